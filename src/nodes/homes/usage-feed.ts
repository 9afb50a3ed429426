import type { Clock } from "#lib/clock.ts";

/**
 * Knows which accounts changed since a version, and wakes callers that wait for a change.
 *
 * Versions live in memory. They start at the process's start time, so versions of an earlier process are lower than all of
 * this one's, and a caller that has one receives all accounts again.
 */
export class UsageFeed {
  #version: number;
  readonly #startVersion: number;
  readonly #changedAt = new Map<number, number>();
  readonly #waiting = new Set<() => void>();

  constructor(clock: Clock) {
    // Microseconds: an earlier process would have needed a million changes a second to overtake this one's start.
    this.#startVersion = clock.now().getTime() * 1000;
    this.#version = this.#startVersion;
  }

  get version(): number {
    return this.#version;
  }

  changed(uid: number): void {
    this.#version += 1;
    this.#changedAt.set(uid, this.#version);
    for (const wake of [...this.#waiting]) wake();
  }

  forget(uid: number): void {
    this.#changedAt.delete(uid);
  }

  /** The uids that changed after a version; all of them if this process never issued the version. */
  changedAfter(version: number): number[] {
    const isOurs = version >= this.#startVersion && version <= this.#version;
    return [...this.#changedAt].filter(([, at]) => !isOurs || at > version).map(([uid]) => uid);
  }

  /** Resolves at the next change, after `waitMs`, or when the signal fires. */
  nextChange(waitMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const finish = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", finish);
        this.#waiting.delete(finish);
        resolve();
      };
      const timer = setTimeout(finish, waitMs);
      signal.addEventListener("abort", finish);
      this.#waiting.add(finish);
      if (signal.aborted) finish();
    });
  }
}
