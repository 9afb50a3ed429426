import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { Client } from "pg";
import { enqueueOrder } from "#queue/enqueue.ts";
import { testDatabase } from "../../test/harness/database.ts";
import { runSql, untilHeldUp } from "../../test/harness/sql.ts";

/** Takes a job as a worker does, but for the commit. */
const take = `UPDATE graphile_worker._private_jobs
  SET locked_by = 'a-worker', locked_at = now(), attempts = attempts + 1 WHERE key = $1`;
const waiting = `SELECT key, run_at <= clock_timestamp() AS is_due FROM graphile_worker.jobs WHERE locked_at IS NULL`;
const key = "order:7";
const order = { id: 7, registryId: "sandbox" };

async function takeJob(t: TestContext, url: string) {
  const worker = new Client({ connectionString: url });
  await worker.connect();
  t.after(() => worker.end());
  await worker.query("BEGIN");
  await worker.query(take, [key]);
  return { commit: () => worker.query("COMMIT") };
}

const calls: Record<string, (opened: Awaited<ReturnType<typeof testDatabase>>) => Promise<unknown>> = {
  "a call": ({ database }) => enqueueOrder(database, order, 0),
  "a call of a trigger": ({ url }) =>
    runSql(url, "SELECT call_job('order:sandbox', json_build_object('orderId', 7), $1)", [key]),
};

for (const [what, call] of Object.entries(calls)) {
  test(`${what} that comes in the moment in which its job is taken has a job of its own`, async (t) => {
    const opened = await testDatabase(t);
    const { url, database } = opened;
    await enqueueOrder(database, order, 0);
    const worker = await takeJob(t, url);
    const called = call(opened);
    await untilHeldUp(url);
    await worker.commit();
    await called;
    assert.deepEqual(await runSql(url, waiting), [{ key, is_due: true }]);
  });
}

test("a delay is cut short by a call", async (t) => {
  const { url, database } = await testDatabase(t);
  await enqueueOrder(database, order, 60_000);
  assert.deepEqual(await runSql(url, waiting), [{ key, is_due: false }]);
  await enqueueOrder(database, order, 0);
  assert.deepEqual(await runSql(url, waiting), [{ key, is_due: true }]);
});

test("the queue of a job that is due is told of it, and of one that has time it is not", async (t) => {
  const { url, database } = await testDatabase(t);
  const listener = new Client({ connectionString: url });
  await listener.connect();
  t.after(() => listener.end());
  const told: (string | undefined)[] = [];
  listener.on("notification", ({ payload }) => told.push(payload));
  await listener.query("LISTEN job_called");
  await enqueueOrder(database, order, 60_000);
  await enqueueOrder(database, { id: 8, registryId: "sandbox" }, 0);
  await listener.query("SELECT 1");
  assert.deepEqual(told, ["order:sandbox"]);
});
