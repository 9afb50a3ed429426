import type { Clock } from "#lib/clock.ts";
import type { EmbeddedNodeLimits } from "../limits.ts";

interface Guesses {
  count: number;
  /** The window's start, or the ban's. */
  sinceMs: number;
  isBanned: boolean;
}

/** Counts wrong passwords per client address over all its connections, and bans an address for a while. */
export class AddressGuesses {
  readonly #clock: Clock;
  readonly #limits: EmbeddedNodeLimits;
  readonly #byAddress = new Map<string, Guesses>();

  constructor(clock: Clock, limits: EmbeddedNodeLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  isBanned(address: string): boolean {
    return this.#current(address)?.isBanned ?? false;
  }

  countWrong(address: string): void {
    const guesses = this.#current(address) ?? { count: 0, sinceMs: this.#clock.monotonicMs(), isBanned: false };
    guesses.count += 1;
    if (!guesses.isBanned && guesses.count >= this.#limits.addressGuessesMax) {
      guesses.isBanned = true;
      guesses.sinceMs = this.#clock.monotonicMs();
    }
    this.#byAddress.set(address, guesses);
    if (this.#byAddress.size > this.#limits.addressesMax) {
      const [oldest] = this.#byAddress.keys();
      if (oldest !== undefined) this.#byAddress.delete(oldest);
    }
  }

  #current(address: string): Guesses | undefined {
    const guesses = this.#byAddress.get(address);
    if (guesses === undefined) return undefined;
    const lastsMs = guesses.isBanned ? this.#limits.addressBanMs : this.#limits.addressWindowMs;
    if (this.#clock.monotonicMs() - guesses.sinceMs < lastsMs) return guesses;
    this.#byAddress.delete(address);
    return undefined;
  }
}
