import type { Clock } from "#lib/clock.ts";

/** Since when a registry has not answered. Any answer, even a refusal, is a sign of life. */
export class SignsOfLife {
  readonly #clock: Clock;
  #answeredAtMs: number;
  #silentSinceMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#answeredAtMs = clock.monotonicMs();
  }

  recordAnswer(): void {
    this.#answeredAtMs = this.#clock.monotonicMs();
    this.#silentSinceMs = undefined;
  }

  /** Records a request without an answer. @param askedAtMs when it was sent; answers to later requests count */
  recordNoAnswer(askedAtMs: number): void {
    this.#silentSinceMs ??= Math.max(askedAtMs, this.#answeredAtMs);
  }

  silentMs(): number {
    return this.#silentSinceMs === undefined ? 0 : this.#clock.monotonicMs() - this.#silentSinceMs;
  }
}
