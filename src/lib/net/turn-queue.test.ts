import assert from "node:assert/strict";
import { test } from "node:test";
import { TurnQueue } from "#lib/net/turn-queue.ts";

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

const turnsOf = (turnTasksMax: number) => new TurnQueue({ turnTasksMax, turnMsMax: Number.POSITIVE_INFINITY });

test("runs its tasks in order, a fixed number in a turn", async () => {
  const queue = turnsOf(3);
  const done: number[] = [];
  for (let task = 0; task < 8; task++) queue.add(() => done.push(task));
  const counts: number[] = [];
  while (done.length < 8) {
    await nextTurn();
    counts.push(done.length);
  }
  assert.deepEqual(done, [0, 1, 2, 3, 4, 5, 6, 7]);
  assert.deepEqual(counts.filter(Boolean), [3, 6, 8]);
});

test("no task overtakes a waiting one, and a full turn takes no more", async () => {
  const queue = turnsOf(2);
  assert.deepEqual([queue.takeNow(), queue.takeNow(), queue.takeNow()], [true, true, false]);
  let isDone = false;
  queue.add(() => {
    isDone = true;
  });
  assert.equal(queue.takeNow(), false);
  while (!isDone) await nextTurn();
  assert.equal(queue.takeNow(), true);
});

test("a shortened turn runs one task, and later turns as many as before", async () => {
  const queue = turnsOf(3);
  const done: number[] = [];
  for (let task = 0; task < 7; task++) queue.add(() => done.push(task));
  queue.shorten();
  assert.equal(queue.takeNow(), false);
  const counts: number[] = [];
  while (done.length < 7) {
    await nextTurn();
    counts.push(done.length);
  }
  assert.deepEqual(counts.filter(Boolean), [1, 4, 7]);
});

test("a turn ends when its tasks have taken its time, and has at least one", async () => {
  let nowMs = 0;
  const queue = new TurnQueue({ turnTasksMax: 100, turnMsMax: 3 }, { monotonicMs: () => nowMs });
  const takes = [1, 1, 1, 1, 9, 9, 1, 2];
  let done = 0;
  for (const ms of takes) {
    queue.add(() => {
      nowMs += ms;
      done += 1;
    });
  }
  const counts: number[] = [];
  while (done < takes.length) {
    await nextTurn();
    counts.push(done);
  }
  assert.deepEqual(counts.filter(Boolean), [3, 5, 6, 8]);
  assert.equal(queue.takeNow(), false);
});
