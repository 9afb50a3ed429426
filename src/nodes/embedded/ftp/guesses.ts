import type { Clock } from "#lib/clock.ts";
import { sourceOf } from "#lib/net/source-address.ts";
import type { EmbeddedNodeLimits } from "#nodes/embedded/limits.ts";

/** The client of a password check, as limits and queues count it. */
export interface Guesser {
  /** IPv4 address, or /64 of IPv6. */
  source: string;
  account: string;
  /** The account has logged in from there lately. */
  isKnown: boolean;
}

/** An admitted password check. Always call `end`. */
export interface Guess {
  guesser: Guesser;
  end(outcome: "right" | "wrong" | "none"): void;
}

interface Budget {
  wrong: number;
  /** Checks that run or wait: each may turn out wrong. */
  pending: number;
  /** Start of the window, or of the ban. */
  sinceMs: number;
  isBanned: boolean;
  /** Callers that wait for the end of a pending check, in order of arrival. */
  waiting: Set<() => void>;
}

/** No identifier is longer (RFC 1035 section 2.3.4). The rest of a longer name is not kept in memory. */
const accountCharsMax = 253;

/**
 * Counts wrong passwords per source over all its connections, and bans a source for a while. An account that has lately logged
 * in from the source has a separate count, so a neighbour behind the same NAT who guesses does not lock it out.
 */
export class AddressGuesses {
  readonly #clock: Clock;
  readonly #limits: EmbeddedNodeLimits;
  readonly #budgets = new Map<string, Budget>();
  /** Source and account of each good login, with its time; the latest last. */
  readonly #known = new Map<string, number>();

  constructor(clock: Clock, limits: EmbeddedNodeLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /**
   * Admits a password check. Waits while the limit would be reached if all pending checks were wrong.
   * @returns undefined when the source is banned
   * @throws the signal's reason when it fires before
   */
  async begin(address: string, user: string, signal: AbortSignal): Promise<Guess | undefined> {
    const guesser = this.#guesser(address, user);
    const name = guesser.isKnown ? pairOf(guesser) : guesser.source;
    for (;;) {
      signal.throwIfAborted();
      const budget = this.#budget(name);
      if (budget.isBanned) return undefined;
      if (budget.wrong + budget.pending < this.#limits.addressGuessesMax) return this.#count(guesser, budget);
      await this.#nextEnd(budget, signal);
    }
  }

  #guesser(address: string, user: string): Guesser {
    const guesser = { source: sourceOf(address), account: user.slice(0, accountCharsMax), isKnown: false };
    const knownMs = this.#known.get(pairOf(guesser));
    const isKnown = knownMs !== undefined && this.#clock.monotonicMs() - knownMs < this.#limits.knownLoginMs;
    return { ...guesser, isKnown };
  }

  #count(guesser: Guesser, budget: Budget): Guess {
    budget.pending += 1;
    return {
      guesser,
      end: (outcome) => {
        budget.pending -= 1;
        if (outcome === "wrong") this.#countWrong(budget);
        if (outcome === "right") this.#noteKnown(guesser);
        for (const wake of [...budget.waiting]) wake();
      },
    };
  }

  #countWrong(budget: Budget): void {
    budget.wrong += 1;
    if (budget.isBanned || budget.wrong < this.#limits.addressGuessesMax) return;
    budget.isBanned = true;
    budget.sinceMs = this.#clock.monotonicMs();
  }

  #noteKnown(guesser: Guesser): void {
    this.#known.delete(pairOf(guesser));
    this.#known.set(pairOf(guesser), this.#clock.monotonicMs());
    const [oldest] = this.#known.keys();
    if (oldest !== undefined && this.#known.size > this.#limits.addressesMax) this.#known.delete(oldest);
  }

  #budget(name: string): Budget {
    const nowMs = this.#clock.monotonicMs();
    const budget = this.#budgets.get(name);
    if (budget === undefined) return this.#open(name, nowMs);
    const lastsMs = budget.isBanned ? this.#limits.addressBanMs : this.#limits.addressWindowMs;
    if (nowMs - budget.sinceMs >= lastsMs) Object.assign(budget, { wrong: 0, isBanned: false, sinceMs: nowMs });
    return budget;
  }

  #open(name: string, sinceMs: number): Budget {
    const budget: Budget = { wrong: 0, pending: 0, sinceMs, isBanned: false, waiting: new Set() };
    this.#budgets.set(name, budget);
    for (const [oldest, { pending }] of this.#budgets) {
      if (this.#budgets.size <= this.#limits.addressesMax) break;
      if (pending === 0) this.#budgets.delete(oldest);
    }
    return budget;
  }

  #nextEnd(budget: Budget, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const finish = () => {
        signal.removeEventListener("abort", finish);
        budget.waiting.delete(finish);
        resolve();
      };
      signal.addEventListener("abort", finish);
      budget.waiting.add(finish);
    });
  }
}

function pairOf({ source, account }: Guesser): string {
  return `${source} ${account}`;
}
