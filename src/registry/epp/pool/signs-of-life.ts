import type { Clock } from "#lib/clock.ts";

/** Since when a registry has been asked in vain. Whatever it answers, a refusal too, is a sign of life. */
export class SignsOfLife {
  readonly #clock: Clock;
  #heardAtMs: number;
  #silentSinceMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#heardAtMs = clock.monotonicMs();
  }

  heard(): void {
    this.#heardAtMs = this.#clock.monotonicMs();
    this.#silentSinceMs = undefined;
  }

  /** A question has failed without an answer. @param askedAtMs when it was asked; what was heard since is later news */
  missed(askedAtMs: number): void {
    this.#silentSinceMs ??= Math.max(askedAtMs, this.#heardAtMs);
  }

  silentMs(): number {
    return this.#silentSinceMs === undefined ? 0 : this.#clock.monotonicMs() - this.#silentSinceMs;
  }
}
