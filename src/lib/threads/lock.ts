/**
 * Locks in memory that threads share: a word that is 0, or one more than the number of the thread that holds it. So the locks of a
 * thread that has died can be found.
 */

/** Holders leave within microseconds, unless they wait for a disk or for a processor: then a notification would gain nothing. */
const lookAgainMs = 1;

/** How a thread marks in shared memory what is its own. */
export const markOf = (thread: number) => thread + 1;

/** Does the work, which waits for nothing but a disk, while no other thread has the lock. */
export function withLock<Result>(words: Int32Array, at: number, thread: number, work: () => Result): Result {
  const own = markOf(thread);
  for (;;) {
    const holder = Atomics.compareExchange(words, at, 0, own);
    if (holder === 0) break;
    Atomics.wait(words, at, holder, lookAgainMs);
  }
  try {
    return work();
  } finally {
    Atomics.store(words, at, 0);
  }
}

/** Frees a lock if the thread has died with it. */
export function freeLock(words: Int32Array, at: number, thread: number): void {
  Atomics.compareExchange(words, at, markOf(thread), 0);
}
