import assert from "node:assert/strict";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import fc from "fast-check";
import { createCounts } from "#front/counts.ts";
import { createSourceBudget } from "#front/rate-limit.ts";
import { allocateCounts, freeCountsThread, joinCounts } from "#front/thread-counts.ts";
import { allocateTable } from "#lib/threads/digest-table.ts";
import { createManualClock } from "../../test/harness/manual-clock.ts";

const windowMs = 60_000;

function stage(memory = allocateCounts()) {
  const clock = createManualClock(1700000000);
  const join = (thread: number) => joinCounts(memory, thread, { clock, windowMs });
  return { memory, clock, join, threads: [join(1), join(2)] as const };
}

test("a limit is that of all threads, and counts as that of one thread does", () => {
  const step = fc.record({
    waitMs: fc.integer({ min: 0, max: windowMs / 2 }),
    key: fc.constantFrom("a", "b"),
    thread: fc.constantFrom(0 as const, 1 as const),
    count: fc.integer({ min: 1, max: 3 }),
    isPeek: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const { clock, threads } = stage();
      const alone = createCounts({ clock, windowMs }).failures;
      for (const { waitMs, key, thread, count, isPeek } of steps) {
        clock.advance(waitMs);
        const { failures } = threads[thread];
        if (isPeek) assert.deepEqual(failures.peek(key, 4), alone.peek(key, 4));
        else assert.deepEqual(failures.take(key, 4, count), alone.take(key, 4, count));
      }
    }),
    { numRuns: 30 },
  );
});

test("a source's failures at one thread count at another, and so does a key that was good", () => {
  const { threads } = stage();
  const limits = { failuresMax: 2, knownGoodFailuresMax: 1 };
  const [one, other] = threads.map((counts) => createSourceBudget({ ...counts, ...limits }));
  one!.noteGood("192.0.2.1", "good");
  for (const budget of [one!, other!]) budget.noteFailure("192.0.2.1");
  assert.equal(one!.check("192.0.2.1").allowed, false);
  assert.equal(other!.check("192.0.2.1", "guessed").allowed, false);
  assert.equal(other!.check("192.0.2.1", "good").allowed, true);
});

test("the windows that end first are dropped when the memory is full", () => {
  const { clock, threads } = stage({ ...allocateCounts(), failures: allocateTable(1, 3) });
  const [{ failures }] = threads;
  for (let number = 0; number < 65; number++) {
    failures.take(`key ${number}`, 1);
    clock.advance(1);
  }
  assert.equal(failures.peek("key 0", 1).allowed, true);
  for (const number of [1, 64]) assert.equal(failures.peek(`key ${number}`, 1).allowed, false);
});

test("a place is one thread's alone, until that thread frees it or dies", () => {
  const { memory, threads } = stage();
  const [one, other] = threads.map(({ places }) => places);
  assert.ok(one!.take("a") && one!.take("b"));
  other!.free("a");
  assert.equal(other!.take("a"), false);
  one!.free("a");
  assert.equal(other!.take("a"), true);
  freeCountsThread(memory, 1);
  assert.equal(other!.take("b"), true);
  assert.equal(one!.take("a"), false);
});

/** Takes one after the other of the same key, as fast as it can. */
const greedy = `
  import { parentPort, workerData } from "node:worker_threads";
  const { joinCounts } = await import(workerData.module);
  const { systemClock } = await import(workerData.clock);
  const { requests } = joinCounts(workerData.memory, workerData.thread, { clock: systemClock, windowMs: 3_600_000 });
  let taken = 0;
  for (let number = 0; number < 20_000; number++) if (requests.take("everybody", 10_000).allowed) taken++;
  parentPort.postMessage(taken);
`;

test("threads at the same time take exactly the limit", async () => {
  const memory = allocateCounts();
  const module = new URL("./thread-counts.ts", import.meta.url).href;
  const clock = new URL("../lib/clock.ts", import.meta.url).href;
  const source = new URL(`data:text/javascript,${encodeURIComponent(greedy)}`);
  const taken = await Promise.all(
    [1, 2, 3].map((thread) => {
      const worker = new Worker(source, { workerData: { memory, module, clock, thread } });
      return new Promise<number>((resolve, reject) => worker.once("message", resolve).once("error", reject));
    }),
  );
  assert.equal(
    taken.reduce((sum, count) => sum + count, 0),
    10_000,
    taken.join(),
  );
});
