/**
 * Runs a job's work once at a time for each id: a job that comes while its row is being worked on looks at it again
 * afterwards, because what it was enqueued for may have come too late for the one under way.
 */
export function oneAtATime<Rest extends unknown[]>(
  work: (id: number, ...rest: Rest) => Promise<void>,
): (id: number, ...rest: Rest) => Promise<void> {
  const running = new Map<number, Promise<void>>();
  return async (id, ...rest) => {
    while (running.has(id)) await running.get(id)?.catch(() => {});
    const step = work(id, ...rest);
    running.set(id, step);
    try {
      await step;
    } finally {
      running.delete(id);
    }
  };
}
