/**
 * Turns for work that a client could request without limit, such as looking up a key or a name. A source has a few pieces in
 * progress at once, and the rest wait, first come, first served. Sources do not wait for each other.
 */

/** More than this are refused. An address has fewer connections than this. */
export const turnsWaitingMax = 1_000;

/** Too many pieces of work are waiting already, so this one is refused. */
export class TooManyWaiting extends Error {
  override readonly name = "TooManyWaiting";
}

export interface SourceTurns {
  /**
   * Does the work when fewer than `atOnceMax` of the source are in progress, or none.
   * @throws TooManyWaiting at once; an error that fails for all, also when an earlier piece of work failed with it
   */
  take<T>(source: string, atOnceMax: () => number, work: () => Promise<T>): Promise<T>;
}

interface Waiting {
  atOnceMax(): number;
  begin(): void;
  giveUp(error: unknown): void;
}

interface Queue {
  underWayCount: number;
  waiting: Waiting[];
}

/**
 * The turns of one process.
 * @param failsForAll whether everything that waits behind a piece of work would wait just as long for the same failure
 */
export function createSourceTurns(failsForAll: (error: unknown) => boolean = () => false): SourceTurns {
  /** Contains only sources with work in progress. */
  const queues = new Map<string, Queue>();

  const hasRoom = ({ underWayCount }: Queue, { atOnceMax }: Pick<Waiting, "atOnceMax">) =>
    underWayCount === 0 || underWayCount < atOnceMax();

  function beginNext(source: string, queue: Queue): void {
    for (let next = queue.waiting[0]; next && hasRoom(queue, next); next = queue.waiting[0]) {
      queue.waiting.shift();
      queue.underWayCount += 1;
      next.begin();
    }
    if (queue.underWayCount === 0) queues.delete(source);
  }

  return {
    async take(source, atOnceMax, work) {
      const queue = queues.get(source) ?? { underWayCount: 0, waiting: [] };
      queues.set(source, queue);
      if (queue.waiting.length === 0 && hasRoom(queue, { atOnceMax })) queue.underWayCount += 1;
      else if (queue.waiting.length >= turnsWaitingMax) throw new TooManyWaiting();
      else await new Promise<void>((begin, giveUp) => queue.waiting.push({ atOnceMax, begin, giveUp }));
      try {
        return await work();
      } catch (error) {
        if (failsForAll(error)) for (const each of queue.waiting.splice(0)) each.giveUp(error);
        throw error;
      } finally {
        queue.underWayCount -= 1;
        beginNext(source, queue);
      }
    },
  };
}
