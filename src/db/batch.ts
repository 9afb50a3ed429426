/**
 * Batches the calls of one statement: calls that arrive while it runs wait and go into the next batch, with one round
 * trip, one commit and one notification for all of them. At most one batch runs at a time, so the busier the process,
 * the larger the batches and the cheaper each call. A lone caller does not wait.
 */

import { isConnectionLost } from "#db/errors.ts";
import { sleep, systemClock } from "#lib/clock.ts";
import { outsideSpans } from "#lib/measure/tracing.ts";
import { reportDefect } from "#lib/report-defect.ts";

/** Limits how much one statement locks, and how long the next one waits. */
const batchItemsMax = 64;
/**
 * The pause between two batches, because a statement costs about the same for one item as for ten: twice the time of
 * the last batch, within these bounds. So a busy database gets fewer and larger batches.
 */
const gatherMsMin = 14;
const gatherMsMax = 32;

/** A row names its item: the item's position in the array. */
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

  /** @param run executes the statement for items as a JSON array, in its own transaction */
  constructor(run: (items: string) => Promise<ItemRow[]>) {
    this.#run = run;
  }

  /** Resolves with the item's rows once they are committed. */
  add(item: object): Promise<ItemRow[]> {
    const answer = Promise.withResolvers<ItemRow[]>();
    this.#waiting.push({ item, answer });
    if (!this.#isRunning) {
      this.#isRunning = true;
      // Calls from the rest of this turn of the event loop join the batch.
      outsideSpans(() =>
        setImmediate(() => {
          this.#runAll().catch(reportDefect);
        }),
      );
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
      // The batch changed nothing. Run each item separately, so that an item which PostgreSQL refuses, or whose row another
      // transaction holds, fails alone.
      const isRefused = !isConnectionLost(error) && batch.length > 1;
      if (isRefused) for (const waiting of batch) await this.#runBatch([waiting]);
      else for (const { answer } of batch) answer.reject(error);
    }
  }
}

const clamp = (value: number, min: number, max: number) => Math.min(Math.max(value, min), max);

/** The items in the form that a batched statement takes, for a caller with its own transaction. */
export function itemsText(items: readonly object[]): string {
  return JSON.stringify(items.map((item, place) => ({ ...item, item: place })));
}
