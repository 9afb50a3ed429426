import type { Clock } from "#lib/clock.ts";
import { sourceOf } from "#lib/net/source-address.ts";

/** Sources that are counted at once: beyond them, new ones get silence. */
const sourcesMax = 10_000;
const windowMs = 1_000;

/** Counts how often each source was refused, so that a forged source is not sent more than it would notice. */
export class Refusals {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #secondMax: number;
  readonly #counts = new Map<string, number>();
  #beganAtMs = 0;

  constructor(secondMax: number, clock: Pick<Clock, "monotonicMs">) {
    this.#secondMax = secondMax;
    this.#clock = clock;
  }

  /** Whether one more may be sent in this second; if so, it is counted. */
  take(address: string): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#beganAtMs >= windowMs) {
      this.#counts.clear();
      this.#beganAtMs = nowMs;
    }
    const source = sourceOf(address);
    const count = this.#counts.get(source) ?? (this.#counts.size < sourcesMax ? 0 : this.#secondMax);
    if (count >= this.#secondMax) return false;
    this.#counts.set(source, count + 1);
    return true;
  }
}
