import type { Clock } from "#lib/clock.ts";
import { EppUnavailable } from "#registry/epp/errors.ts";
import type { AcquireOptions, Lease, SessionPurpose } from "#registry/epp/pool/pool.ts";

/** Further callers are refused at once. */
const waitersMax = 1000;
/**
 * Work that arrives up to this much later goes first. A person waits for a check and gives up after a few seconds; a renewal has
 * weeks, and there may be thousands. Work that has waited longer takes its turn, so no kind of work starves, except bulk checks: these
 * get a session only when nobody else waits for one. With a session they take their turn at the rate limit, so that they return it.
 */
const yieldsMs: Record<SessionPurpose, number> = {
  check: 0,
  transform: 1_000,
  poll: 1_000,
  change: 2_000,
  renewal: 4_000,
  "bulk-check": 4_000,
};

/** Lower ranks are served first. */
export function rankOf(purpose: SessionPurpose, clock: Clock): number {
  return clock.monotonicMs() + yieldsMs[purpose];
}

/** A caller that waits for a session. */
export interface Waiter {
  readonly purpose: SessionPurpose;
  readonly isWanted: () => boolean;
  readonly lent: PromiseWithResolvers<Lease>;
  readonly timer: NodeJS.Timeout;
  readonly rankMs: number;
}

/** Callers that wait for a session: checks, changes, renewals, bulk checks and all other work. Each gives up after its `waitMs`. */
export class WaitingLine {
  readonly #clock: Clock;
  readonly #checks = new Set<Waiter>();
  readonly #others = new Set<Waiter>();
  readonly #changes = new Set<Waiter>();
  readonly #renewals = new Set<Waiter>();
  readonly #bulkChecks = new Set<Waiter>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How many wait for a check. */
  get checksCount(): number {
    return this.#checks.size;
  }

  get othersCount(): number {
    return this.#others.size + this.#changes.size + this.#renewals.size + this.#bulkChecks.size;
  }

  /** Resolves with the lease. @throws EppUnavailable pool-full after `waitMs` or when unwanted, or the error of `refuseAll` */
  join(purpose: SessionPurpose, { waitMs, isWanted = () => true }: AcquireOptions): Promise<Lease> {
    const lent = Promise.withResolvers<Lease>();
    if (this.checksCount + this.othersCount >= waitersMax) {
      lent.reject(new EppUnavailable("pool-full"));
      return lent.promise;
    }
    const timer = setTimeout(() => this.#refuse(waiter, new EppUnavailable("pool-full")), waitMs);
    const waiter: Waiter = { purpose, isWanted, lent, timer, rankMs: rankOf(purpose, this.#clock) };
    this.#lineOf(waiter).add(waiter);
    return lent.promise;
  }

  /** The caller to serve next. @param checksOnly whether other work has to wait */
  next(checksOnly: boolean): Waiter | undefined {
    this.#dismissUnwanted(this.#checks);
    this.#dismissUnwanted(this.#bulkChecks);
    const [check] = this.#checks;
    if (checksOnly) return check;
    const [other] = this.#others;
    const [change] = this.#changes;
    const [renewal] = this.#renewals;
    const [bulkCheck] = this.#bulkChecks;
    return firstOf(check, firstOf(other, firstOf(change, renewal))) ?? bulkCheck;
  }

  /** Drops checks at the head of the line that no caller waits for any more. */
  #dismissUnwanted(checks: ReadonlySet<Waiter>): void {
    for (const waiter of checks) {
      if (waiter.isWanted()) return;
      this.#refuse(waiter, new EppUnavailable("pool-full"));
    }
  }

  serve(waiter: Waiter, lease: Lease): void {
    this.#leave(waiter);
    waiter.lent.resolve(lease);
  }

  refuseAll(error: Error): void {
    const lines = [this.#checks, this.#others, this.#changes, this.#renewals, this.#bulkChecks];
    for (const waiter of lines.flatMap((line) => [...line])) this.#refuse(waiter, error);
  }

  #refuse(waiter: Waiter, error: Error): void {
    this.#leave(waiter);
    waiter.lent.reject(error);
  }

  #leave(waiter: Waiter): void {
    this.#lineOf(waiter).delete(waiter);
    clearTimeout(waiter.timer);
  }

  #lineOf({ purpose }: Waiter): Set<Waiter> {
    if (purpose === "check") return this.#checks;
    if (purpose === "change") return this.#changes;
    if (purpose === "bulk-check") return this.#bulkChecks;
    return purpose === "renewal" ? this.#renewals : this.#others;
  }
}

function firstOf(one: Waiter | undefined, other: Waiter | undefined): Waiter | undefined {
  return one && other && other.rankMs < one.rankMs ? other : (one ?? other);
}
