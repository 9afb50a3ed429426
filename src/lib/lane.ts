/** Runs the tasks given to it one after the other, in the order they were given. */
export type Lane = <T>(task: () => Promise<T>) => Promise<T>;

export function createLane(): Lane {
  let last: Promise<unknown> = Promise.resolve();
  return (task) => {
    const run = last.then(task);
    last = run.catch(() => {});
    return run;
  };
}
