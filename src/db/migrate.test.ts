import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { MigrationError, migrate } from "#db/migrate.ts";
import { emptyDatabase } from "../../test/harness/database.ts";
import { olderDatabase } from "../../test/harness/older-database.ts";
import { runSql } from "../../test/harness/sql.ts";

/** A folder of migrations and an empty database to run them on. */
async function workshop(t: TestContext) {
  const migrationsDir = await mkdtemp(join(tmpdir(), "deedhouse-migrations-"));
  t.after(() => rm(migrationsDir, { recursive: true }));
  const { url } = await emptyDatabase(t);
  return {
    url,
    write: (name: string, sql: string) => writeFile(join(migrationsDir, name), sql),
    remove: (name: string) => rm(join(migrationsDir, name)),
    migrate: () => migrate(url, { migrationsDir }),
  };
}

test("applies each file once, in the order of the numbers", async (t) => {
  const { url, write, migrate } = await workshop(t);
  await write("0002-b.sql", "INSERT INTO thing VALUES ('b')");
  await write("0001-a.sql", "CREATE TABLE thing (name text); INSERT INTO thing VALUES ('a')");
  assert.deepEqual(await migrate(), { applied: ["0001-a.sql", "0002-b.sql"] });
  await write("0003-c.sql", "INSERT INTO thing VALUES ('c')");
  assert.deepEqual(await migrate(), { applied: ["0003-c.sql"] });
  assert.deepEqual(await migrate(), { applied: [] });
  assert.deepEqual(await runSql(url, "SELECT string_agg(name, '') AS names FROM thing"), [{ names: "abc" }]);
});

test("several processes may migrate at once, and each file is applied once", async (t) => {
  const { write, migrate } = await workshop(t);
  await write("0001-a.sql", "CREATE TABLE thing (name text)");
  await write("0002-b.sql", "CREATE TABLE other (name text)");
  const results = await Promise.all([migrate(), migrate(), migrate()]);
  assert.deepEqual(results.flatMap((result) => result.applied).sort(), ["0001-a.sql", "0002-b.sql"]);
});

test("a file that fails changes nothing, keeps the ones before it, and can be applied again", async (t) => {
  const { url, write, migrate } = await workshop(t);
  await write("0001-a.sql", "CREATE TABLE thing (name text)");
  await write("0002-b.sql", "CREATE TABLE half (name text); SELECT 1 / 0");
  await assert.rejects(migrate(), /0002-b\.sql failed and changed nothing: division by zero/);
  assert.deepEqual(await runSql(url, "SELECT to_regclass('half') AS half, to_regclass('thing')::text AS thing"), [
    { half: null, thing: "thing" },
  ]);
  await write("0002-b.sql", "CREATE TABLE half (name text)");
  assert.deepEqual(await migrate(), { applied: ["0002-b.sql"] });
});

test("refuses a database with applied files that this version does not know", async (t) => {
  const { write, remove, migrate } = await workshop(t);
  await write("0001-a.sql", "CREATE TABLE thing (name text)");
  await write("0002-b.sql", "CREATE TABLE other (name text)");
  await migrate();
  await remove("0002-b.sql");
  await assert.rejects(
    migrate(),
    /0002-b\.sql, which this version of Deedhouse does not know: start a version at least/,
  );
});

test("refuses an applied file that has changed", async (t) => {
  const { write, migrate } = await workshop(t);
  await write("0001-a.sql", "CREATE TABLE thing (name text)");
  await migrate();
  await write("0001-a.sql", "CREATE TABLE thing (name text, size int)");
  await assert.rejects(migrate(), /0001-a\.sql has changed since it was applied/);
});

test("refuses a new file whose number a later one has overtaken, one without a number, and two of the same", async (t) => {
  const { write, remove, migrate } = await workshop(t);
  await write("0002-b.sql", "SELECT 1");
  await migrate();
  await write("0001-a.sql", "SELECT 1");
  await assert.rejects(migrate(), /0001-a\.sql comes before 0002-b\.sql/);
  await remove("0001-a.sql");
  await write("later.sql", "SELECT 1");
  await assert.rejects(migrate(), /later\.sql is not named like/);
  await remove("later.sql");
  await write("0002-c.sql", "SELECT 1");
  await assert.rejects(migrate(), MigrationError);
});

test("creates no tables in a database of another program", async (t) => {
  const { url, write, migrate } = await workshop(t);
  await runSql(url, "CREATE TABLE theirs (id int)");
  await write("0001-a.sql", "CREATE TABLE ours (id int)");
  await assert.rejects(migrate(), { name: "MigrationError", message: /another program/ });
  assert.deepEqual(await runSql(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"), [
    { tablename: "theirs" },
  ]);
});

test("a new database keeps nothing of the job queue that older releases had, and an older database keeps its own", async (t) => {
  const queue = `SELECT to_regnamespace('graphile_worker') IS NOT NULL AS has_queue,
    to_regproc('call_job') IS NOT NULL AS has_function`;
  const { url } = await emptyDatabase(t);
  await migrate(url);
  assert.deepEqual(await runSql(url, queue), [{ has_queue: false, has_function: false }]);
  const older = await olderDatabase(t, "0026");
  await migrate(older.url);
  assert.deepEqual(await runSql(older.url, queue), [{ has_queue: true, has_function: true }]);
});
