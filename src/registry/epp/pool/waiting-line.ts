import type { Clock } from "#lib/clock.ts";
import { EppUnavailable } from "#registry/epp/errors.ts";
import type { AcquireOptions, Lease, SessionPurpose } from "#registry/epp/pool/pool.ts";

/** Further callers are refused at once. */
const waitersMax = 1000;
/**
 * Work that arrives up to this much later goes first. A person waits for a check and gives up after a few seconds; a renewal
 * has weeks, and there may be thousands. Work that has waited longer takes its turn, so no kind of work starves, except bulk
 * checks: these get a session only when no other caller waits for one. With a session they take their turn at the rate limit,
 * so that they return it.
 */
const yieldsMs: Record<SessionPurpose, number> = {
  check: 0,
  transform: 1_000,
  poll: 1_000,
  "urgent-change": 2_000,
  change: 2_000,
  renewal: 4_000,
  "bulk-check": 4_000,
};

/** Their work has time: it leaves sessions and tokens for others. */
const patient: readonly SessionPurpose[] = ["change", "renewal", "bulk-check"];
const purposes = Object.keys(yieldsMs) as SessionPurpose[];
const ranked = purposes.filter((purpose) => purpose !== "bulk-check");
const hurried = purposes.filter((purpose) => !isPatient(purpose));

export function isPatient(purpose: SessionPurpose): boolean {
  return patient.includes(purpose);
}

/** How many more sessions may be lent: checks may have any. */
export interface FreeSessions {
  /** To all but checks. */
  readonly orders: number;
  /** Of these, to patient ones. */
  readonly patient: number;
}

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
  readonly #lines = Object.fromEntries(purposes.map((purpose) => [purpose, new Set()])) as Record<
    SessionPurpose,
    Set<Waiter>
  >;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get count(): number {
    return this.#countOf(purposes);
  }

  #countOf(some: readonly SessionPurpose[]): number {
    return some.reduce((sum, purpose) => sum + this.#lines[purpose].size, 0);
  }

  /** How many of those who wait may have a session now. */
  servable(free: FreeSessions): number {
    const checks = this.#lines.check.size;
    const patients = Math.min(this.#countOf(patient), Math.max(free.patient, 0));
    return checks + Math.min(this.#countOf(hurried) - checks + patients, Math.max(free.orders, 0));
  }

  /** Resolves with the lease. @throws EppUnavailable pool-full after `waitMs` or when unwanted, or the error of `refuseAll` */
  join(purpose: SessionPurpose, { waitMs, isWanted = () => true }: AcquireOptions): Promise<Lease> {
    const lent = Promise.withResolvers<Lease>();
    if (this.count >= waitersMax) {
      lent.reject(new EppUnavailable("pool-full"));
      return lent.promise;
    }
    const timer = setTimeout(() => this.#refuse(waiter, new EppUnavailable("pool-full")), waitMs);
    const waiter: Waiter = { purpose, isWanted, lent, timer, rankMs: rankOf(purpose, this.#clock) };
    this.#lines[purpose].add(waiter);
    return lent.promise;
  }

  /** The caller to serve next. */
  next(free: FreeSessions): Waiter | undefined {
    this.#dismissUnwanted(this.#lines.check);
    this.#dismissUnwanted(this.#lines["bulk-check"]);
    if (free.orders <= 0) return this.#firstOf(["check"]);
    if (free.patient <= 0) return this.#firstOf(hurried);
    return this.#firstOf(ranked) ?? this.#firstOf(["bulk-check"]);
  }

  /** The one with the lowest rank, and of equal ranks the first purpose's. */
  #firstOf(some: readonly SessionPurpose[]): Waiter | undefined {
    return some.reduce<Waiter | undefined>((first, purpose) => {
      const [waiter] = this.#lines[purpose];
      return waiter && !(first && first.rankMs <= waiter.rankMs) ? waiter : first;
    }, undefined);
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
    for (const waiter of Object.values(this.#lines).flatMap((line) => [...line])) this.#refuse(waiter, error);
  }

  #refuse(waiter: Waiter, error: Error): void {
    this.#leave(waiter);
    waiter.lent.reject(error);
  }

  #leave(waiter: Waiter): void {
    this.#lines[waiter.purpose].delete(waiter);
    clearTimeout(waiter.timer);
  }
}
