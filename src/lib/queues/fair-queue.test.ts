import assert from "node:assert/strict";
import { test } from "node:test";
import { FairQueue, type FairQueueSettings, QueueFull, type Sponsors } from "#lib/queues/fair-queue.ts";

/** A queue whose tasks run until they are released, and the outcome of each, in order. */
function watch(settings: Partial<FairQueueSettings> = {}) {
  const queue = new FairQueue({ runningMax: 1, waitingMax: 100, ...settings });
  const log: string[] = [];
  const running: (() => void)[] = [];
  const ask = (name: string, sponsors: Sponsors, signal?: AbortSignal) => {
    const task = () =>
      new Promise<void>((resolve) => {
        log.push(name);
        running.push(resolve);
      });
    return queue.run(sponsors, task, signal).catch((error) => {
      log.push(`${name}: ${error instanceof QueueFull ? "full" : error}`);
    });
  };
  const finish = async () => {
    running.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  const finishAll = async () => {
    while (running.length > 0) await finish();
  };
  return { ask, log, finish, finishAll };
}

test("a flood from one address at many accounts delays another address by one turn", async () => {
  const { ask, log, finishAll } = watch();
  for (let at = 0; at < 5; at += 1) void ask(`flood ${at}`, [["flood", `account ${at}`]]);
  void ask("calm", [["elsewhere", "mine"]]);
  await finishAll();
  assert.deepEqual(log, ["flood 0", "calm", "flood 1", "flood 2", "flood 3", "flood 4"]);
});

test("a flood from many addresses at one account delays other accounts by one turn", async () => {
  const { ask, log, finishAll } = watch();
  for (let at = 0; at < 5; at += 1) void ask(`flood ${at}`, [[`address ${at}`, "attacked"]]);
  void ask("calm", [["elsewhere", "mine"]]);
  await finishAll();
  assert.deepEqual(log.slice(0, 2), ["flood 0", "calm"]);
});

test("behind one address the accounts take turns", async () => {
  const { ask, log, finishAll } = watch();
  for (let at = 0; at < 3; at += 1) void ask(`flood ${at}`, [["office", "attacked"]]);
  void ask("neighbour", [["office", "mine"]]);
  await finishAll();
  assert.deepEqual(log.slice(0, 2), ["flood 0", "neighbour"]);
});

test("a known client takes turns with all strangers as one, whatever their number of addresses and accounts", async () => {
  const { ask, log, finishAll } = watch();
  for (let at = 0; at < 50; at += 1) void ask(`stranger ${at}`, [["strangers"], [`address ${at}`, `account ${at}`]]);
  void ask("known 1", [["known"], ["its address", "attacked"]]);
  void ask("known 2", [["known"], ["another address", "other"]]);
  await finishAll();
  assert.deepEqual(log.slice(0, 4), ["stranger 0", "known 1", "stranger 1", "known 2"]);
});

test("no more than runningMax tasks run at the same time", async () => {
  const { ask, log, finish, finishAll } = watch({ runningMax: 2 });
  for (const name of ["a", "b", "c"]) void ask(name, [[name]]);
  assert.deepEqual(log, ["a", "b"]);
  await finish();
  assert.deepEqual(log, ["a", "b", "c"]);
  await finishAll();
});

test("a full queue refuses new tasks, and passes places of the greediest sponsor to those with fewer", async () => {
  const { ask, log, finishAll } = watch({ waitingMax: 3 });
  for (let at = 0; at < 4; at += 1) void ask(`flood ${at}`, [["flood", `account ${at}`]]);
  void ask("more of it", [["flood", "another"]]);
  void ask("calm", [["elsewhere", "mine"]]);
  await finishAll();
  assert.deepEqual(log, ["flood 0", "more of it: full", "flood 3: full", "calm", "flood 1", "flood 2"]);
});

test("strangers who fill the queue give a place to a known client, and not to each other", async () => {
  const { ask, log, finishAll } = watch({ waitingMax: 3 });
  for (let at = 0; at < 5; at += 1) void ask(`stranger ${at}`, [["strangers"], [`address ${at}`]]);
  void ask("known", [["known"], ["address"]]);
  await finishAll();
  const expected = ["stranger 0", "stranger 4: full", "stranger 3: full", "known", "stranger 1", "stranger 2"];
  assert.deepEqual(log, expected);
});

test("a task that leaves before its turn delays nobody and does not run", async () => {
  const { ask, log, finishAll } = watch({ waitingMax: 1 });
  const leaving = new AbortController();
  void ask("running", [["a"]]);
  void ask("leaver", [["b"]], leaving.signal);
  leaving.abort("left");
  void ask("next", [["c"]]);
  await finishAll();
  void ask("gone before", [["d"]], leaving.signal);
  await finishAll();
  assert.deepEqual(log, ["running", "leaver: left", "next", "gone before: left"]);
});

test("a sponsor has no more than its share of the running tasks, and the others find the rest free", async () => {
  const { ask, log, finish, finishAll } = watch({ runningMax: 3, sponsorRunningMax: 2 });
  for (let at = 0; at < 4; at += 1) void ask(`flood ${at}`, [["flood"]]);
  assert.deepEqual(log, ["flood 0", "flood 1"]);
  void ask("calm", [["calm"]]);
  assert.deepEqual(log, ["flood 0", "flood 1", "calm"]);
  await finish();
  assert.deepEqual(log.slice(3), ["flood 2"]);
  await finishAll();
  assert.deepEqual(log.slice(4), ["flood 3"]);
});

test("a task whose turn does not come in time is refused, and never runs", async () => {
  const { ask, log, finishAll } = watch({ waitMsMax: 1 });
  void ask("running", [["a"]]);
  await ask("late", [["b"]]);
  await finishAll();
  assert.deepEqual(log, ["running", "late: full"]);
});

test("a task that throws makes room for the next", async () => {
  const queue = new FairQueue({ runningMax: 1, waitingMax: 1 });
  const failed = queue.run([["a"]], () => {
    throw new Error("broken");
  });
  assert.equal(await queue.run([["b"]], async () => "done"), "done");
  await assert.rejects(failed, /broken/);
});
