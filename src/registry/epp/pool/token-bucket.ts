import type { Clock } from "#lib/clock.ts";
import { sleep } from "#lib/clock.ts";

interface Waiting {
  readonly rankMs: number;
  readonly isWanted: () => boolean;
  readonly pass: (isWanted: boolean) => void;
}

/** Limits the rate of commands: at most one second's worth in a burst, ordered by rank, then first come, first served. */
export class TokenBucket {
  readonly #perSecond: number;
  readonly #clock: Clock;
  #tokens: number;
  #filledAtMs: number;
  /** In the order in which they pass. Each holds a session, so there are few. */
  readonly #line: Waiting[] = [];
  #isPassing = false;

  /** @param perSecond commands per second that the registry allows; more than 0 */
  constructor(perSecond: number, clock: Clock) {
    this.#perSecond = perSecond;
    this.#clock = clock;
    this.#tokens = Math.max(1, perSecond);
    this.#filledAtMs = clock.monotonicMs();
  }

  /**
   * Resolves to true when the command may be sent, or to false, without using a token, when it is no longer wanted.
   * @param rankMs lower ranks pass first (`rankOf`); equal ranks keep their order
   */
  take(rankMs = 0, isWanted = () => true): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const before = this.#line.findLastIndex((waiting) => waiting.rankMs <= rankMs);
    this.#line.splice(before + 1, 0, { rankMs, isWanted, pass: resolve });
    void this.#passAll();
    return promise;
  }

  async #passAll(): Promise<void> {
    if (this.#isPassing) return;
    this.#isPassing = true;
    while (this.#line.length > 0) {
      this.#fill();
      if (this.#tokens < 1) await sleep(Math.ceil(((1 - this.#tokens) / this.#perSecond) * 1000));
      else this.#passNext();
    }
    this.#isPassing = false;
  }

  #passNext(): void {
    const { isWanted, pass } = this.#line.shift()!;
    const isPassing = isWanted();
    if (isPassing) this.#tokens -= 1;
    pass(isPassing);
  }

  #fill(): void {
    const nowMs = this.#clock.monotonicMs();
    const gained = ((nowMs - this.#filledAtMs) / 1000) * this.#perSecond;
    this.#tokens = Math.min(Math.max(1, this.#perSecond), this.#tokens + gained);
    this.#filledAtMs = nowMs;
  }
}
