/**
 * Calls of one statement that come while it is under way wait and go together in the next: one round trip, one commit and
 * one notification for all of them. At most one batch is under way, so the busier the process is, the larger they become,
 * and the less each call costs. A caller who is alone does not wait.
 */

import { DatabaseUnavailable } from "#db/errors.ts";
import { sleep, systemClock } from "#lib/clock.ts";

/** Bounds what one statement holds locked, and for how long the next has to wait. */
const batchItemsMax = 64;
/**
 * Between two batches, for a statement costs much the same for one item as for ten: twice as long as the last one took,
 * within these bounds. So a database that has much to do gets fewer and larger ones.
 */
const gatherMsMin = 14;
const gatherMsMax = 32;

/** A row says which item of the batch it belongs to: the item's place in the array. */
export interface ItemRow {
  item: number;
}

interface Waiting {
  readonly item: object;
  readonly answer: PromiseWithResolvers<ItemRow[]>;
}

export class Batcher {
  readonly #run: (items: string) => Promise<ItemRow[]>;
  #waiting: Waiting[] = [];
  #isRunning = false;

  /** @param run executes the statement for items as a JSON array, in a transaction of its own */
  constructor(run: (items: string) => Promise<ItemRow[]>) {
    this.#run = run;
  }

  /** Resolves with the item's own rows once they are committed. */
  add(item: object): Promise<ItemRow[]> {
    const answer = Promise.withResolvers<ItemRow[]>();
    this.#waiting.push({ item, answer });
    if (!this.#isRunning) {
      this.#isRunning = true;
      // What the rest of this turn of the event loop brings goes along.
      setImmediate(() => this.#runAll());
    }
    return answer.promise;
  }

  async #runAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, batchItemsMax);
      this.#waiting = this.#waiting.slice(batchItemsMax);
      const startedAtMs = systemClock.monotonicMs();
      await this.#runBatch(batch);
      const tookMs = systemClock.monotonicMs() - startedAtMs;
      const isBusy = batch.length > 1 || this.#waiting.length > 0;
      if (isBusy && this.#waiting.length < batchItemsMax) await sleep(clamp(2 * tookMs, gatherMsMin, gatherMsMax));
    }
    this.#isRunning = false;
  }

  async #runBatch(batch: Waiting[]): Promise<void> {
    try {
      const rows = Map.groupBy(await this.#run(itemsText(batch.map(({ item }) => item))), ({ item }) => item);
      for (const [place, { answer }] of batch.entries()) answer.resolve(rows.get(place) ?? []);
    } catch (error) {
      // Nothing of it was done: each by itself, so that one which PostgreSQL refuses is refused alone.
      const isRefused = !(error instanceof DatabaseUnavailable) && batch.length > 1;
      if (isRefused) for (const waiting of batch) await this.#runBatch([waiting]);
      else for (const { answer } of batch) answer.reject(error);
    }
  }
}

const clamp = (value: number, min: number, max: number) => Math.min(Math.max(value, min), max);

/** Items as a statement for many takes them; for a caller who has a transaction of its own. */
export function itemsText(items: readonly object[]): string {
  return JSON.stringify(items.map((item, place) => ({ ...item, item: place })));
}
