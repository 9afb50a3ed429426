import assert from "node:assert/strict";
import { test } from "node:test";
import { DueQueue } from "./due-queue.ts";

test("returns keys in the order of their latest times, then by name, each once", () => {
  const queue = new DueQueue();
  const expected = new Map<string, number>();
  // Times that repeat, and keys whose time changes or goes away.
  for (let step = 0; step < 2_000; step++) {
    const key = `k${(step * 7_919) % 500}`;
    const dueMs = step % 11 === 0 ? undefined : (step * 104_729) % 997;
    queue.set(key, dueMs);
    if (dueMs === undefined) expected.delete(key);
    else expected.set(key, dueMs);
  }
  assert.equal(queue.firstDueMs(), Math.min(...expected.values()));
  const taken = [];
  for (let entry = queue.takeUntil(500); entry; entry = queue.takeUntil(500)) taken.push(entry);
  const due = [...expected].filter(([, dueMs]) => dueMs <= 500);
  due.sort(([key, dueMs], [otherKey, otherMs]) => dueMs - otherMs || (key < otherKey ? -1 : 1));
  assert.deepEqual(
    taken.map(({ key, dueMs }) => [key, dueMs]),
    due,
  );
  assert.ok(queue.firstDueMs()! > 500);
});

test("keeps no more entries for names that come and go than for existing ones", () => {
  const queue = new DueQueue();
  for (let round = 0; round < 20_000; round++) {
    queue.set(`k${round % 10}`, 20_000 - round);
    if (round % 3 > 0) queue.set(`k${round % 10}`, undefined);
  }
  assert.ok(queue.entryCount < 1_100, `${queue.entryCount}`);
  const taken = [];
  for (let entry = queue.takeUntil(20_000); entry; entry = queue.takeUntil(20_000)) taken.push(entry.dueMs);
  assert.ok(taken.length > 0);
  assert.deepEqual(
    taken,
    taken.toSorted((one, other) => one - other),
  );
});
