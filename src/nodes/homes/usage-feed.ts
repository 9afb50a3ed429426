import type { Clock } from "#lib/clock.ts";

/**
 * Tells which accounts changed since a version, and wakes whoever waits for a change.
 *
 * Versions live in memory. They start at the time of the process's start, so that a version of an earlier process is
 * older than all of this one's and its holder is told everything again.
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

  /** The uids that changed after a version. A version that this process never gave means: all. */
  changedAfter(version: number): number[] {
    const isOurs = version >= this.#startVersion && version <= this.#version;
    return [...this.#changedAt].filter(([, at]) => !isOurs || at > version).map(([uid]) => uid);
  }

  /** Returns at the next change, after `waitMs` or at the signal, whichever is first. */
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
