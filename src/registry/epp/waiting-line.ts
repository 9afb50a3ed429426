import { EppUnavailable } from "./errors.ts";
import type { Lane, Lease } from "./pool.ts";

/** More callers than this are refused at once. */
const waitersMax = 1000;

/** A caller who waits for a session. */
export interface Waiter {
  readonly lane: Lane;
  readonly lent: PromiseWithResolvers<Lease>;
  readonly timer: NodeJS.Timeout;
}

/** Callers who wait for a session, in the order they came; each gives up by itself when its time is over. */
export class WaitingLine {
  readonly #waiters = new Set<Waiter>();
  #checksCount = 0;

  /** How many of them wait to ask a check. */
  get checksCount(): number {
    return this.#checksCount;
  }

  /** Resolves with the lease. @throws EppUnavailable: pool-full after `waitMs`, or what `refuseAll` says */
  join(lane: Lane, waitMs: number): Promise<Lease> {
    const lent = Promise.withResolvers<Lease>();
    if (this.#waiters.size >= waitersMax) {
      lent.reject(new EppUnavailable("pool-full"));
      return lent.promise;
    }
    const timer = setTimeout(() => this.#refuse(waiter, new EppUnavailable("pool-full")), waitMs);
    const waiter: Waiter = { lane, lent, timer };
    this.#waiters.add(waiter);
    if (lane === "check") this.#checksCount += 1;
    return lent.promise;
  }

  [Symbol.iterator](): Iterator<Waiter> {
    return this.#waiters.values();
  }

  serve(waiter: Waiter, lease: Lease): void {
    this.#leave(waiter);
    waiter.lent.resolve(lease);
  }

  refuseAll(error: Error): void {
    for (const waiter of this.#waiters) this.#refuse(waiter, error);
  }

  #refuse(waiter: Waiter, error: Error): void {
    this.#leave(waiter);
    waiter.lent.reject(error);
  }

  #leave(waiter: Waiter): void {
    if (this.#waiters.delete(waiter) && waiter.lane === "check") this.#checksCount -= 1;
    clearTimeout(waiter.timer);
  }
}
