import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Task } from "graphile-worker";
import { Pool } from "pg";
import { sleep } from "#lib/clock.ts";
import { createLog } from "#lib/log.ts";
import { startLiveness } from "#locks/liveness.ts";
import { createJobPool } from "#queue/job-pool.ts";
import { startJobRunner } from "#queue/runner.ts";
import { testDatabase } from "../../test/harness/database.ts";
import { startDatabaseProxy } from "../../test/harness/database-proxy.ts";
import { endSessions, runSql } from "../../test/harness/sql.ts";

const log = createLog("test", "silent");

async function startRunner(t: TestContext, task: Task, { jobsMax = 2, jobsAhead = 0 } = {}) {
  const { url, database } = await testDatabase(t);
  const pool = new Pool({ connectionString: url, max: 6, application_name: "test-jobs" });
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  const liveness = startLiveness({ database, log }, url);
  const runner = await startJobRunner({ pool, log, liveness, tasks: { task }, jobsMax, jobsAhead });
  t.after(async () => {
    await runner.stop();
    await liveness.close();
    await pool.end();
  });
  const addJob = () => runSql(url, "SELECT graphile_worker.add_job('task')");
  return { url, database, addJob, runner };
}

async function untilEqual<Value>(read: () => Value | Promise<Value>, wanted: Value): Promise<void> {
  for (let looks = 0; looks < 2_000; looks++) {
    if ((await read()) === wanted) return;
    await sleep(10);
  }
  throw new Error(`it never was ${String(wanted)}`);
}

const lockedJobs = "SELECT FROM graphile_worker.jobs WHERE locked_at IS NOT NULL";

/** SQL: such a change of a job fails once. A sequence counts on when its transaction is rolled back. */
const raiseOnce = (change: "UPDATE" | "DELETE", when: string) => `
  CREATE SEQUENCE test_tries_${change};
  CREATE FUNCTION test_raise_${change}() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF nextval('test_tries_${change}') = 1 THEN RAISE 'no'; END IF;
    RETURN ${change === "DELETE" ? "OLD" : "NEW"};
  END $$;
  CREATE TRIGGER test_raise_${change} BEFORE ${change} ON graphile_worker._private_jobs
    FOR EACH ROW WHEN (${when}) EXECUTE FUNCTION test_raise_${change}()`;

const jobsLeft = async (url: string) => (await runSql(url, "SELECT FROM graphile_worker._private_jobs")).length;

test("a job that takes long is not given to anybody else, also when another process looks for dead ones", async (t) => {
  let runs = 0;
  const { url, database, addJob } = await startRunner(t, async () => {
    runs += 1;
    await sleep(3_500);
  });
  const other = startLiveness({ database, log }, url);
  t.after(() => other.close());
  await addJob();
  await untilEqual(() => runs, 1);
  await untilEqual(() => jobsLeft(url), 0);
  assert.equal(runs, 1);
});

test("a job whose worker is gone is done by another", async (t) => {
  let runs = 0;
  const { url } = await startRunner(t, async () => {
    runs += 1;
  });
  const take = `WITH job AS (SELECT (graphile_worker.add_job('task', run_at := now() + interval '1 hour')).id)
    SELECT id FROM job`;
  const [job] = await runSql<{ id: string }>(url, take);
  const lock = `UPDATE graphile_worker._private_jobs
    SET run_at = now(), locked_by = 'pool-of-the-dead', locked_at = now() WHERE id = $1`;
  await runSql(url, lock, [job?.id]);
  await untilEqual(() => runs, 1);
  await untilEqual(() => jobsLeft(url), 0);
});

test("the queue works again after all of its database connections broke, even in the middle of a job", async (t) => {
  let runs = 0;
  const release = Promise.withResolvers<void>();
  const { url, addJob } = await startRunner(t, async () => {
    runs += 1;
    if (runs === 1) await release.promise;
  });
  await addJob();
  await untilEqual(() => runs, 1);
  await endSessions(url, "test-jobs");
  release.resolve();
  await addJob();
  await untilEqual(() => jobsLeft(url), 0);
  assert.ok(runs >= 2);
});

test("the queue works again, and can be stopped, after all of its connections have fallen silent", async (t) => {
  const { url, database } = await testDatabase(t);
  const proxy = await startDatabaseProxy(url);
  t.after(() => proxy.close());
  const pool = createJobPool({ databaseUrl: proxy.url, connectionsMax: 6, log, statementTimeoutMs: 200 });
  const liveness = startLiveness({ database, log }, url);
  let runs = 0;
  const task = () => {
    runs += 1;
    // In the middle of a job: its end cannot be written down.
    if (runs === 1) proxy.silence();
  };
  const runner = await startJobRunner({ pool, log, liveness, tasks: { task }, jobsMax: 2, jobsAhead: 2 });
  t.after(async () => {
    await runner.stop();
    await liveness.close();
    await pool.end();
  });
  await runSql(url, "SELECT graphile_worker.add_job('task')");
  await untilEqual(() => jobsLeft(url), 0);
  assert.equal(runs, 2);
  proxy.silence();
  await runner.stop();
});

test("a queue that cannot write down how a job ended is started again, and the job is done again", async (t) => {
  let runs = 0;
  const { url, addJob } = await startRunner(t, async () => {
    runs += 1;
  });
  await runSql(url, raiseOnce("DELETE", "true"));
  await addJob();
  await untilEqual(() => runs, 2);
  await untilEqual(() => jobsLeft(url), 0);
  assert.equal(runs, 2);
});

for (const jobsAhead of [0, 5]) {
  test(`a stop waits for the job under way and hands back the rest, with ${jobsAhead} jobs taken ahead`, async (t) => {
    let ended = 0;
    const begun = Promise.withResolvers<void>();
    const done = Promise.withResolvers<void>();
    t.after(() => done.resolve());
    const task = async () => {
      begun.resolve();
      await done.promise;
      ended += 1;
    };
    const { addJob, runner, url } = await startRunner(t, task, { jobsMax: 1, jobsAhead });
    await addJob();
    await addJob();
    await begun.promise;
    const locked = async () => (await runSql(url, lockedJobs)).length;
    await untilEqual(locked, jobsAhead === 0 ? 1 : 2);
    const stopped = runner.stop();
    done.resolve();
    await stopped;
    assert.equal(ended, 1);
    assert.equal(await jobsLeft(url), 1);
    assert.equal(await locked(), 0);
  });
}

for (const how of ["by itself", "because it is told to"]) {
  test(`a queue that ends ${how} and cannot hand back its jobs leaves its process alive`, async (t) => {
    let runs = 0;
    const begun = Promise.withResolvers<void>();
    const done = Promise.withResolvers<void>();
    t.after(() => done.resolve());
    const task = async () => {
      runs += 1;
      begun.resolve();
      await done.promise;
    };
    const { addJob, runner, url } = await startRunner(t, task, { jobsMax: 1, jobsAhead: 5 });
    await addJob();
    await addJob();
    await begun.promise;
    await untilEqual(async () => (await runSql(url, lockedJobs)).length, 2);
    // As when its connection breaks just then.
    await runSql(url, raiseOnce("UPDATE", "OLD.locked_at IS NOT NULL AND NEW.locked_at IS NULL"));
    if (how === "by itself") {
      await runSql(url, raiseOnce("DELETE", "true"));
      done.resolve();
      await untilEqual(() => jobsLeft(url), 0);
      assert.ok(runs >= 2);
    } else {
      const stopped = runner.stop();
      done.resolve();
      await stopped;
    }
  });
}
