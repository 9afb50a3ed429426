import assert from "node:assert/strict";
import { describe, type TestContext, test } from "node:test";
import type { DatabaseError } from "pg";
import { createDatabase, type DatabaseOptions } from "#db/database.ts";
import { DatabaseUnavailable, isUniqueViolation, LockTimeout } from "#db/errors.ts";
import { statement } from "#db/statement.ts";
import { createLog } from "#lib/log.ts";
import { testDatabase } from "../../test/harness/database.ts";
import { runSql } from "../../test/harness/sql.ts";

const addThing = statement("test-add-thing", "INSERT INTO thing (name) VALUES ($name) RETURNING name", {
  name: "text",
});
const thingByName = statement("test-thing", "SELECT name, size, made_at FROM thing WHERE name = $name", {
  name: "text",
  size: "int8",
  made_at: "timestamptz",
});
const thingNames = statement("test-thing-names", "SELECT name FROM thing ORDER BY name", { name: "text" });
const backendPid = statement("test-backend-pid", "SELECT pg_backend_pid() AS pid", { pid: "int4" });
const lockThing = statement("test-lock-thing", "SELECT name FROM thing WHERE name = $name FOR UPDATE", {
  name: "text",
});
const sleepSeconds = statement("test-sleep", "SELECT pg_sleep($seconds)::text AS slept", { slept: "text" });
const failing = statement("test-failing", "SELECT 1 / $divisor::int AS never", { never: "int4" });
const largeNumber = statement("test-large-number", "SELECT $number::int8 AS number", { number: "int8" });

async function open(scope: TestContext, options: Partial<DatabaseOptions> = {}) {
  const { url } = await testDatabase(scope);
  await runSql(
    url,
    "CREATE TABLE thing (name text CONSTRAINT thing_name PRIMARY KEY, size int8 DEFAULT 7, made_at timestamptz DEFAULT '2026-01-02T03:04:05Z')",
  );
  const database = createDatabase({
    url,
    transactionsMax: 2,
    applicationName: "test",
    log: createLog("test", "silent"),
    ...options,
  });
  scope.after(() => database.close());
  return { url, database };
}

async function waitFor<Value>(attempt: () => Promise<Value>): Promise<Value> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable)) throw error;
    }
  }
}

test("rows come back in the types of their column map", async (t) => {
  const { database } = await open(t);
  await database.query(addThing, { name: "a" });
  const expected = [{ name: "a", size: 7, made_at: new Date("2026-01-02T03:04:05Z") }];
  assert.deepEqual(await database.query(thingByName, { name: "a" }), expected);
  assert.deepEqual(await database.point(thingByName, { name: "a" }), expected);
});

test("refuses an int8 that a number cannot hold exactly", async (t) => {
  const { database } = await open(t);
  assert.deepEqual(await database.point(largeNumber, { number: "9007199254740991" }), [{ number: 9007199254740991 }]);
  for (const read of [database.point, database.query]) {
    await assert.rejects(read(largeNumber, { number: "9007199254740992" }), /not a safe integer/);
  }
});

describe("a transaction", () => {
  test("keeps everything when it resolves and nothing when it throws", async (t) => {
    const { database } = await open(t);
    await database.transaction((tx) => tx.query(addThing, { name: "kept" }));
    const refusal = new Error("declined");
    const declined = database.transaction(async (tx) => {
      await tx.query(addThing, { name: "dropped" });
      throw refusal;
    });
    await assert.rejects(declined, refusal);
    assert.deepEqual(await database.query(thingNames, {}), [{ name: "kept" }]);
  });

  test("fails when it swallows the failure of a statement, because nothing of it is kept", async (t) => {
    const { database } = await open(t);
    const swallowed = database.transaction(async (tx) => {
      await tx.query(addThing, { name: "dropped" });
      await tx.query(failing, { divisor: 0 }).catch(() => {});
    });
    await assert.rejects(swallowed, /rolled back/);
    assert.deepEqual(await database.query(thingNames, {}), []);
  });

  test("sends its last statement with the commit, and keeps nothing when that is refused", async (t) => {
    const { database } = await open(t);
    await database.transaction(async (tx) => tx.atCommit(addThing, { name: "kept" }));
    const refused = database.transaction(async (tx) => {
      await tx.query(addThing, { name: "dropped" });
      tx.atCommit(addThing, { name: "kept" });
    });
    await assert.rejects(refused, (error) => isUniqueViolation(error, "thing_name"));
    const declined = database.transaction(async (tx) => {
      tx.atCommit(addThing, { name: "never" });
      throw new Error("declined");
    });
    await assert.rejects(declined, /declined/);
    assert.deepEqual(await database.query(thingNames, {}), [{ name: "kept" }]);
  });

  test("does not wait for a row longer than the lock timeout, and its connection can be used again", async (t) => {
    const { database } = await open(t, { transactionsMax: 2, lockTimeoutMs: 50 });
    await database.query(addThing, { name: "a" });
    await database.transaction(async (tx) => {
      await tx.query(lockThing, { name: "a" });
      let pid: number | undefined;
      const second = database.transaction(async (other) => {
        pid = (await other.query(backendPid, {}))[0]?.pid;
        await other.query(addThing, { name: "b" });
        await other.query(lockThing, { name: "a" });
      });
      await assert.rejects(second, LockTimeout);
      assert.deepEqual(await database.query(backendPid, {}), [{ pid }]);
    });
    assert.deepEqual(await database.query(thingNames, {}), [{ name: "a" }]);
  });

  test("cannot be used after it ended", async (t) => {
    const { database } = await open(t);
    const tx = await database.transaction(async (tx) => tx);
    assert.throws(() => tx.query(addThing, { name: "late" }), /after its transaction had ended/);
  });
});

test("a unique violation is recognised by its constraint", async (t) => {
  const { database } = await open(t);
  await database.query(addThing, { name: "a" });
  const error = await database.query(addThing, { name: "a" }).catch((error) => error);
  assert.ok(isUniqueViolation(error));
  assert.ok(isUniqueViolation(error, "thing_name"));
  assert.ok(!isUniqueViolation(error, "another"));
  assert.ok(!isUniqueViolation(new Error("23505")));
});

test("a point read cannot write", async (t) => {
  const { database } = await open(t);
  await assert.rejects(database.point(addThing, { name: "a" }), /read-only transaction/);
});

test("a failing point read does not disturb the ones around it", async (t) => {
  const { database } = await open(t, { pipelinedConnections: 1 });
  await database.query(addThing, { name: "a" });
  const results = await Promise.allSettled([
    database.point(thingNames, {}),
    database.point(failing, { divisor: 0 }),
    database.point(failing, { divisor: 0 }),
    database.point(thingNames, {}),
  ]);
  assert.deepEqual(
    results.map((result) => (result.status === "fulfilled" ? result.value : (result.reason as DatabaseError).code)),
    [[{ name: "a" }], "22012", "22012", [{ name: "a" }]],
  );
});

describe("a database that goes away", () => {
  const small = { transactionsMax: 1, pipelinedConnections: 1 };
  const endSession = (url: string, pid: number) => runSql(url, "SELECT pg_terminate_backend($1, 5000)", [pid]);

  test("is DatabaseUnavailable for a transaction in progress, and the next one works", async (t) => {
    const { database, url } = await open(t, small);
    const interrupted = database.transaction(async (tx) => {
      const [row] = await tx.query(backendPid, {});
      await endSession(url, row!.pid);
      await tx.query(addThing, { name: "lost" });
    });
    await assert.rejects(interrupted, DatabaseUnavailable);
    assert.equal((await database.query(thingNames, {})).length, 0);
  });

  test("is DatabaseUnavailable for the point reads in progress, and later ones connect again", async (t) => {
    const { database, url } = await open(t, small);
    const [row] = await database.point(backendPid, {});
    const inProgress = [database.point(sleepSeconds, { seconds: 60 }), database.point(thingNames, {})].map((read) =>
      assert.rejects(read, DatabaseUnavailable),
    );
    await endSession(url, row!.pid);
    await Promise.all(inProgress);
    const [again] = await waitFor(() => database.point(backendPid, {}));
    assert.notEqual(again!.pid, row!.pid);
  });
});

test("an unreachable or too busy database is DatabaseUnavailable", async (t) => {
  const unreachable = createDatabase({
    url: "postgres://nobody@127.0.0.1:1/none",
    transactionsMax: 1,
    applicationName: "test",
    log: createLog("test", "silent"),
  });
  t.after(() => unreachable.close());
  await assert.rejects(unreachable.query(thingNames, {}), DatabaseUnavailable);
  await assert.rejects(unreachable.point(thingNames, {}), DatabaseUnavailable);

  // Long enough to connect again, even on a busy machine.
  const { database } = await open(t, { transactionsMax: 1, connectionTimeoutMs: 1_500, statementTimeoutMs: 1_000 });
  await database.transaction(async () => {
    await assert.rejects(database.query(thingNames, {}), /timeout exceeded when trying to connect/);
  });
  await assert.rejects(database.query(sleepSeconds, { seconds: 60 }), DatabaseUnavailable);
  assert.deepEqual(await database.query(thingNames, {}), []);
});

test("a schema change under prepared statements costs one DatabaseUnavailable per connection, not more", async (t) => {
  const { database, url } = await open(t, { transactionsMax: 1, pipelinedConnections: 1 });
  await database.query(thingByName, { name: "a" });
  await database.point(thingByName, { name: "a" });
  await runSql(url, "ALTER TABLE thing ALTER COLUMN size TYPE int4");
  for (const read of [database.point, database.query]) {
    await assert.rejects(read(thingByName, { name: "a" }), DatabaseUnavailable);
    assert.deepEqual(await read(thingByName, { name: "a" }), []);
  }
});

test("closing waits for the queries in progress", async (t) => {
  const { url } = await open(t);
  const database = createDatabase({
    url,
    transactionsMax: 1,
    applicationName: "test",
    log: createLog("test", "silent"),
  });
  const inProgress = [database.query(sleepSeconds, { seconds: 0.1 }), database.point(sleepSeconds, { seconds: 0.1 })];
  await database.query(thingNames, {});
  await database.close();
  assert.equal((await Promise.all(inProgress)).length, 2);
  await assert.rejects(database.query(thingNames, {}), DatabaseUnavailable);
});
