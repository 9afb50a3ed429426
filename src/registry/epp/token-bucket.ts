import type { Clock } from "#lib/clock.ts";
import { sleep } from "#lib/clock.ts";

/** Lets commands pass at a registry's pace: at most one second's worth at once, first come, first served. */
export class TokenBucket {
  readonly #perSecond: number;
  readonly #clock: Clock;
  #tokens: number;
  #filledAtMs: number;
  #queue: Promise<void> = Promise.resolve();

  /** @param perSecond how many commands a second the registry allows; more than 0 */
  constructor(perSecond: number, clock: Clock) {
    this.#perSecond = perSecond;
    this.#clock = clock;
    this.#tokens = Math.max(1, perSecond);
    this.#filledAtMs = clock.monotonicMs();
  }

  /** Resolves when the next command may go. */
  take(): Promise<void> {
    this.#queue = this.#queue.then(() => this.#takeNext());
    return this.#queue;
  }

  async #takeNext(): Promise<void> {
    this.#fill();
    while (this.#tokens < 1) {
      await sleep(Math.ceil(((1 - this.#tokens) / this.#perSecond) * 1000));
      this.#fill();
    }
    this.#tokens -= 1;
  }

  #fill(): void {
    const nowMs = this.#clock.monotonicMs();
    const gained = ((nowMs - this.#filledAtMs) / 1000) * this.#perSecond;
    this.#tokens = Math.min(Math.max(1, this.#perSecond), this.#tokens + gained);
    this.#filledAtMs = nowMs;
  }
}
