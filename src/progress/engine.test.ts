import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { type TestContext, test } from "node:test";
import { sleep } from "#lib/clock.ts";
import { lockConnectionName } from "#locks/process-name.ts";
import type { Machine } from "#progress/engine.ts";
import { openStage, thingsTable } from "#progress/test-stage.ts";
import { testDatabase } from "../../test/harness/database.ts";
import { startDatabaseProxy } from "../../test/harness/database-proxy.ts";
import { createManualClock } from "../../test/harness/manual-clock.ts";
import { endSessions, runSql } from "../../test/harness/sql.ts";
import { createSteeredClock } from "../../test/harness/steered-clock.ts";

async function thingsDatabase(t: TestContext): Promise<string> {
  const { url } = await testDatabase(t);
  await runSql(url, thingsTable);
  return url;
}

async function openOn(t: TestContext, options: Parameters<typeof openStage>[1] = {}) {
  const url = await thingsDatabase(t);
  const stage = openStage(url, options);
  t.after(() => stage.close());
  return { url, stage };
}

const add = (url: string, id: number, at = "now()") =>
  runSql(url, `INSERT INTO things (id, next_step_at) VALUES ($1, ${at})`, [id]);
const due = (url: string) => runSql<{ id: string }>(url, "SELECT id FROM things WHERE next_step_at IS NOT NULL");
const versionOf = async (url: string, id: number) =>
  (await runSql<{ version: string }>(url, "SELECT version FROM things WHERE id = $1", [id]))[0]?.version;

async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isTrue())) await sleep(20);
}

/** A step that settles its row and records it in `stepped`. */
function settling(url: string, stepped: number[]): Machine<number>["step"] {
  return async (id) => {
    await runSql(url, "UPDATE things SET next_step_at = NULL, reached = reached + 1 WHERE id = $1", [id]);
    stepped.push(id);
  };
}

test("a notification starts the step of a row that becomes due", async (t) => {
  const { url, stage } = await openOn(t);
  const stepped: number[] = [];
  stage.start(settling(url, stepped));
  await until(() => stage.context.listener.aliveAsOf() !== undefined);
  for (let id = 1; id <= 20; id++) {
    await add(url, id);
    await until(() => stepped.includes(id));
  }
  assert.deepEqual(await due(url), []);
});

test("rows are taken in the order in which they became due, at most rowsMax at once", async (t) => {
  const { url, stage } = await openOn(t);
  for (let id = 1; id <= 9; id++) await add(url, id, `now() - interval '${id} minutes'`);
  const begun: number[] = [];
  const stepped: number[] = [];
  let atOnce = 0;
  let most = 0;
  const settle = settling(url, stepped);
  const machine = stage.start(
    async (id, signal) => {
      begun.push(id);
      atOnce += 1;
      most = Math.max(most, atOnce);
      assert.ok(machine.stepsInProgress().some(({ machine, row }) => machine === "things" && row === id));
      await settle(id, signal);
      atOnce -= 1;
    },
    { rowsMax: 2 },
  );
  await until(() => stepped.length === 9);
  assert.equal(most, 2);
  assert.deepEqual(begun, [9, 8, 7, 6, 5, 4, 3, 2, 1]);
  await machine.stop();
  assert.deepEqual(machine.stepsInProgress(), []);
});

test("a waiting row is taken when the clock reaches its time, also when the clock jumps forward", async (t) => {
  const clock = createSteeredClock();
  const { url, stage } = await openOn(t, { clock });
  const stepped: number[] = [];
  stage.start(settling(url, stepped));
  await add(url, 1, "now() + interval '50 minutes'");
  await add(url, 2);
  await until(() => stepped.includes(2));
  assert.deepEqual(stepped, [2]);
  clock.skip(1);
  await until(() => stepped.includes(1));
});

test("a time too far in the future, left by a clock that was wrong for a while, becomes due", async (t) => {
  const clock = createManualClock(1_800_000_000);
  const { url, stage } = await openOn(t, { clock });
  const stepped: number[] = [];
  const machine = stage.start(settling(url, stepped));
  await add(url, 1, "to_timestamp(1800000000)");
  await until(() => stepped.includes(1));
  clock.advance(10 * 86_400_000);
  await add(url, 2, "to_timestamp(1800000000) + interval '10 days 30 minutes'");
  await add(url, 3, "to_timestamp(1800000000) + interval '10 days'");
  await until(() => stepped.includes(3));
  assert.deepEqual(stepped, [1, 3]);
  clock.set(1_800_000_000);
  await until(() => stepped.includes(2));
  await machine.stop();
});

test("a row whose step throws backs off, and other rows are not delayed", async (t) => {
  const { url, stage } = await openOn(t);
  const stepped: number[] = [];
  const settle = settling(url, stepped);
  let failures = 0;
  stage.start(async (id, signal) => {
    if (id === 1 && failures < 2) {
      failures += 1;
      throw new Error("not now");
    }
    await settle(id, signal);
  });
  await add(url, 1);
  await until(() => failures === 1);
  await until(async () => (await versionOf(url, 1)) !== "0");
  const [row] = await runSql(url, "SELECT next_step_at > now() AS waits FROM things WHERE id = 1");
  assert.deepEqual(row, { waits: true });
  await add(url, 2);
  await until(() => stepped.includes(2));
  await until(() => stepped.includes(1));
  assert.equal(failures, 2);
});

test("a step that leaves its row due and unchanged is not run again at once", async (t) => {
  const { url, stage } = await openOn(t);
  let steps = 0;
  stage.start(async () => {
    steps += 1;
  });
  await add(url, 1);
  await until(async () => (await versionOf(url, 1)) !== "0");
  assert.equal(steps, 1);
});

test("a row that is changed during a step is taken again at once, even if the step failed", async (t) => {
  const { url, stage } = await openOn(t);
  const stepped: number[] = [];
  const begun = Promise.withResolvers<void>();
  const changed = Promise.withResolvers<void>();
  const settle = settling(url, stepped);
  stage.start(async (id, signal) => {
    begun.resolve();
    const [row] = await runSql<{ wanted: number }>(url, "SELECT wanted FROM things WHERE id = $1", [id]);
    await changed.promise;
    if (row?.wanted === 1) throw new Error("the row has changed");
    await settle(id, signal);
  });
  await add(url, 1);
  await begun.promise;
  await runSql(url, "UPDATE things SET wanted = 2, next_step_at = now() WHERE id = 1");
  changed.resolve();
  await until(() => stepped.includes(1));
  // The change and the settling: nothing was postponed.
  assert.equal(await versionOf(url, 1), "2");
});

async function startChild(t: TestContext, url: string, settings: { stepMs: number; rowsMax: number }) {
  const path = new URL("test-child.ts", import.meta.url).pathname;
  const child = spawn(process.execPath, [path, JSON.stringify({ url, ...settings })], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => child.kill("SIGKILL"));
  await once(child.stdout, "data");
  return child;
}

test("two processes never run steps of one row at the same time", async (t) => {
  const url = await thingsDatabase(t);
  const settings = { stepMs: 3, rowsMax: 2 };
  await Promise.all([startChild(t, url, settings), startChild(t, url, settings)]);
  for (let id = 1; id <= 4; id++) {
    await runSql(url, "INSERT INTO things (id, next_step_at, wanted) VALUES ($1, now(), 10)", [id]);
  }
  await until(async () => (await due(url)).length === 0);
  const overlapping = `SELECT FROM steps AS one JOIN steps AS other USING (id)
    WHERE one.began_at < other.began_at AND other.began_at < one.ended_at`;
  assert.deepEqual(await runSql(url, overlapping), []);
  const counts = await runSql(url, "SELECT reached, count(*)::int AS rows FROM things GROUP BY reached");
  assert.deepEqual(counts, [{ reached: 10, rows: 4 }]);
});

test("another process takes over the row of a killed one", async (t) => {
  const url = await thingsDatabase(t);
  const child = await startChild(t, url, { stepMs: 600_000, rowsMax: 1 });
  await add(url, 1);
  await until(async () => (await runSql(url, "SELECT FROM steps")).length === 1);
  const stage = openStage(url);
  t.after(() => stage.close());
  const stepped: number[] = [];
  stage.start(settling(url, stepped));
  await add(url, 2);
  await until(() => stepped.includes(2));
  // The first row stays locked as long as its process lives.
  assert.deepEqual(stepped, [2]);
  child.kill("SIGKILL");
  await until(() => stepped.includes(1));
});

for (const how of ["broken", "silent"] as const) {
  test(`a ${how} connection for locks aborts the steps in progress, and a new connection takes their rows again`, async (t) => {
    const url = await thingsDatabase(t);
    const proxy = await startDatabaseProxy(url);
    t.after(() => proxy.close());
    const stage = openStage(url, { locksUrl: proxy.url, pingMs: 200 });
    t.after(() => stage.close());
    const stepped: number[] = [];
    const settle = settling(url, stepped);
    const aborted: number[] = [];
    stage.start(async (id, signal) => {
      if (aborted.length === 0) {
        if (how === "silent") proxy.silence();
        else await endSessions(url, lockConnectionName);
        await sleep(600_000, signal);
        aborted.push(id);
        throw new Error("stopped");
      }
      await settle(id, signal);
    });
    await add(url, 1);
    await until(() => stepped.includes(1));
    assert.deepEqual(aborted, [1]);
    // An aborted step is no failure: the row was not postponed.
    assert.equal(await versionOf(url, 1), "1");
  });
}

test("a stop waits for the step in progress and begins no other", async (t) => {
  const { url, stage } = await openOn(t);
  const stepped: number[] = [];
  const settle = settling(url, stepped);
  const begun = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const machine = stage.start(
    async (id, signal) => {
      begun.resolve();
      await release.promise;
      await settle(id, signal);
    },
    { rowsMax: 1 },
  );
  await add(url, 1);
  await add(url, 2, "now() + interval '10 ms'");
  await begun.promise;
  const stopped = machine.stop();
  release.resolve();
  await stopped;
  assert.deepEqual(stepped, [1]);
  assert.deepEqual(await due(url), [{ id: "2" }]);
});

test("an owner's machine takes only its own rows, and none after its ownership has ended", async (t) => {
  const { url, stage } = await openOn(t);
  const stepped: number[] = [];
  const owned = new AbortController();
  const owner = stage.startOwned("me", owned.signal, settling(url, stepped));
  await add(url, 1);
  await runSql(
    url,
    "INSERT INTO things (id, owner, next_step_at) SELECT n, 'me', now() FROM generate_series(2, 50) AS n",
  );
  await until(() => stepped.length === 49);
  assert.ok(!stepped.includes(1));
  owned.abort();
  await runSql(url, "INSERT INTO things (id, owner, next_step_at) VALUES (51, 'me', now())");
  await owner.stop();
  assert.deepEqual((await due(url)).map(({ id }) => id).sort(), ["1", "51"]);
});

test("rows are taken again after a database outage", async (t) => {
  const url = await thingsDatabase(t);
  const stage = openStage(url);
  t.after(() => stage.close());
  const stepped: number[] = [];
  stage.start(settling(url, stepped));
  await add(url, 1);
  await until(() => stepped.includes(1));
  await endSessions(url, "deedhouse-test");
  await endSessions(url, "deedhouse-listener");
  await add(url, 2);
  await until(() => stepped.includes(2));
});
