/**
 * What many requests ask at once, in one statement: the items of one turn of the event loop, and those that come while a statement
 * runs. Unlike a batch (batch.ts) it never pauses, and nobody waits for it longer than 2 s, because every request needs it.
 */
import type { OpenDatabase } from "#db/database.ts";
import { noAnswer } from "#db/pool.ts";
import { waitAtMost } from "#lib/clock.ts";
import { inStatement, outsideSpans } from "#lib/measure/tracing.ts";
import { reportDefect } from "#lib/report-defect.ts";

/** Then the end of the statement is unknown, and everybody who waits for it gets an error. */
const answerMsMax = 2_000;

export interface TurnStatementOptions<Item, Result> {
  /** Its name in traces: that of the statement. */
  name: string;
  /** For such statements alone, so that no slow query delays them. */
  database: OpenDatabase;
  /** @returns a result for each item, in their order */
  execute(items: readonly Item[]): Promise<readonly Result[]>;
}

/** @returns a function that asks one item; it throws what `execute` does, and DatabaseUnavailable after 2 s */
export function createTurnStatement<Item, Result>({ name, database, execute }: TurnStatementOptions<Item, Result>) {
  type Waiting = { item: Item; answer: PromiseWithResolvers<Result> };
  let waiting: Waiting[] = [];
  let isRunning = false;

  async function run(batch: readonly Waiting[]): Promise<void> {
    let isSettled = false;
    const settled = execute(batch.map(({ item }) => item)).then(
      (results) => {
        isSettled = true;
        for (const [place, { answer }] of batch.entries()) answer.resolve(results[place]!);
      },
      (error: unknown) => {
        isSettled = true;
        for (const { answer } of batch) answer.reject(error);
      },
    );
    await waitAtMost(answerMsMax, settled);
    if (isSettled) return;
    // The connection may never answer again, so the next statement gets another one. Items that wait behind this statement fail now:
    // with a statement of their own, they would wait for another 2 s.
    database.suspend();
    await settled;
    for (const { answer } of waiting) answer.reject(noAnswer());
    waiting = [];
    database.resume();
  }

  async function runAll(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      await run(batch);
    }
    isRunning = false;
  }

  return (item: Item): Promise<Result> => {
    const answer = Promise.withResolvers<Result>();
    waiting.push({ item, answer });
    if (!isRunning) {
      isRunning = true;
      outsideSpans(() =>
        setImmediate(() => {
          runAll().catch(reportDefect);
        }),
      );
    }
    return inStatement(name, () => answer.promise);
  };
}
