import type { Clock } from "#lib/clock.ts";
import { sleep } from "#lib/clock.ts";
import { reportDefect } from "#lib/report-defect.ts";

/** The part of a burst that is kept back from patient callers: work that comes among thousands of theirs finds it. */
const reserveShare = 0.2;
/** A patient caller that has waited longer may also use it. */
const patienceMs = 2_000;

export interface TakeOptions {
  /** Lower ranks pass first (`rankOf`); equal ranks keep their order. Default 0. */
  readonly rankMs?: number;
  /** Evaluated when its turn comes. Default: always true. */
  readonly isWanted?: () => boolean;
  /** Its work has time. */
  readonly isPatient?: boolean;
}

interface Waiting extends Required<TakeOptions> {
  readonly cameAtMs: number;
  readonly pass: (isWanted: boolean) => void;
}

/** Limits the rate of commands: at most one second's worth in a burst, ordered by rank, then first come, first served. */
export class TokenBucket {
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #reserve: number;
  readonly #clock: Clock;
  #tokens: number;
  #filledAtMs: number;
  /** In the order in which they pass. Each holds a session, so there are few. */
  readonly #line: Waiting[] = [];
  #isPassing = false;

  /** @param perSecond commands per second that the registry allows; more than 0 */
  constructor(perSecond: number, clock: Clock) {
    this.#perSecond = perSecond;
    this.#burst = Math.max(1, perSecond);
    this.#reserve = Math.min(reserveShare * this.#burst, this.#burst - 1);
    this.#clock = clock;
    this.#tokens = this.#burst;
    this.#filledAtMs = clock.monotonicMs();
  }

  /** Resolves to true when the command may be sent, or to false, without using a token, when it is no longer wanted. */
  take({ rankMs = 0, isWanted = () => true, isPatient = false }: TakeOptions = {}): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const before = this.#line.findLastIndex((waiting) => waiting.rankMs <= rankMs);
    const cameAtMs = this.#clock.monotonicMs();
    this.#line.splice(before + 1, 0, { rankMs, isWanted, isPatient, cameAtMs, pass: resolve });
    this.#passThose();
    this.#passOthers().catch(reportDefect);
    return promise;
  }

  /** Passes those for whom there are tokens now. */
  #passThose(): void {
    this.#fill();
    for (;;) {
      const index = this.#line.findIndex((waiting) => this.#tokens >= this.#neededBy(waiting));
      if (index < 0) return;
      const [{ isWanted, pass }] = this.#line.splice(index, 1) as [Waiting];
      const isPassing = isWanted();
      if (isPassing) this.#tokens -= 1;
      pass(isPassing);
    }
  }

  async #passOthers(): Promise<void> {
    if (this.#isPassing) return;
    this.#isPassing = true;
    while (this.#line.length > 0) {
      // A caller that is not patient may join meanwhile, and passes with the first token.
      const needed = this.#tokens < 1 ? 1 : Math.min(...this.#line.map((waiting) => this.#neededBy(waiting)));
      await sleep(Math.ceil(((needed - this.#tokens) / this.#perSecond) * 1000));
      this.#passThose();
    }
    this.#isPassing = false;
  }

  #neededBy({ isPatient, cameAtMs }: Waiting): number {
    return isPatient && this.#filledAtMs - cameAtMs < patienceMs ? 1 + this.#reserve : 1;
  }

  #fill(): void {
    const nowMs = this.#clock.monotonicMs();
    const gained = ((nowMs - this.#filledAtMs) / 1000) * this.#perSecond;
    this.#tokens = Math.min(this.#burst, this.#tokens + gained);
    this.#filledAtMs = nowMs;
  }
}
