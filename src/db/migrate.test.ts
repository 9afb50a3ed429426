import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { MigrationError, migrate } from "#db/migrate.ts";
import { lastCommitWithEarlierFormats } from "#lib/earlier-format.ts";
import { emptyDatabase, testDatabase } from "../../test/harness/database.ts";
import { runSql } from "../../test/harness/sql.ts";

/** A folder of migrations and functions, and an empty database to apply them to. */
async function workshop(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), "deedhouse-migrations-"));
  t.after(() => rm(folder, { recursive: true }));
  for (const name of ["migrations", "functions"]) await mkdir(join(folder, name));
  const { url } = await emptyDatabase(t);
  return {
    url,
    write: (name: string, sql: string) => writeFile(join(folder, "migrations", name), sql),
    writeFunction: (name: string, sql: string) => writeFile(join(folder, "functions", name), sql),
    remove: (name: string) => rm(join(folder, "migrations", name)),
    migrate: () => migrate(url, { folder }),
  };
}

const answering = (answer: number) =>
  `CREATE OR REPLACE FUNCTION answer() RETURNS int LANGUAGE sql AS $$ SELECT ${answer} $$;`;
const answerOf = async (url: string) => (await runSql<{ answer: number }>(url, "SELECT answer()"))[0]?.answer;

test("applies each migration once, in the order of the numbers", async (t) => {
  const { url, write, migrate } = await workshop(t);
  await write("0002-b.sql", "INSERT INTO thing VALUES ('b')");
  await write("0001-a.sql", "CREATE TABLE thing (name text); INSERT INTO thing VALUES ('a')");
  assert.deepEqual(await migrate(), { functions: [], migrations: ["0001-a.sql", "0002-b.sql"] });
  await write("0003-c.sql", "INSERT INTO thing VALUES ('c')");
  assert.deepEqual(await migrate(), { functions: [], migrations: ["0003-c.sql"] });
  assert.deepEqual(await migrate(), { functions: [], migrations: [] });
  assert.deepEqual(await runSql(url, "SELECT string_agg(name, '') AS names FROM thing"), [{ names: "abc" }]);
});

test("a function whose file has changed is replaced without a migration, and the others stay as they are", async (t) => {
  const { url, write, writeFunction, migrate } = await workshop(t);
  await write("0001-a.sql", "CREATE TABLE thing (name text)");
  await writeFunction("answer.sql", answering(1));
  await writeFunction("other.sql", "CREATE OR REPLACE FUNCTION other() RETURNS int LANGUAGE sql AS $$ SELECT 0 $$;");
  assert.deepEqual(await migrate(), { functions: ["answer.sql", "other.sql"], migrations: ["0001-a.sql"] });
  await writeFunction("answer.sql", answering(2));
  assert.deepEqual(await migrate(), { functions: ["answer.sql"], migrations: [] });
  assert.deepEqual(await migrate(), { functions: [], migrations: [] });
  assert.equal(await answerOf(url), 2);
});

test("a migration may use a new function, which may use the tables of the migration", async (t) => {
  const { url, write, writeFunction, migrate } = await workshop(t);
  await writeFunction(
    "count-things.sql",
    "CREATE OR REPLACE FUNCTION count_things() RETURNS bigint LANGUAGE sql AS $$ SELECT count(*) FROM thing $$;",
  );
  await write(
    "0001-a.sql",
    "CREATE TABLE thing (name text, place bigint DEFAULT count_things()); INSERT INTO thing VALUES ('a')",
  );
  await migrate();
  assert.deepEqual(await runSql(url, "SELECT place::int FROM thing"), [{ place: 0 }]);
});

test("a function file that fails changes nothing, and the error has its name", async (t) => {
  const { url, write, writeFunction, migrate } = await workshop(t);
  await writeFunction("answer.sql", answering(1));
  await migrate();
  await writeFunction("answer.sql", answering(2));
  await writeFunction("broken.sql", "CREATE OR REPLACE FUNCTION broken( RETURNS int");
  await write("0001-a.sql", "CREATE TABLE thing (name text)");
  await assert.rejects(migrate(), /broken\.sql failed and changed nothing: syntax error/);
  assert.equal(await answerOf(url), 1);
  assert.deepEqual(await runSql(url, "SELECT to_regclass('thing') AS thing"), [{ thing: null }]);
});

test("several processes may migrate at once, and each file is applied once", async (t) => {
  const { write, writeFunction, migrate } = await workshop(t);
  await write("0001-a.sql", "CREATE TABLE thing (name text)");
  await write("0002-b.sql", "CREATE TABLE other (name text)");
  await writeFunction("answer.sql", answering(1));
  const results = await Promise.all([migrate(), migrate(), migrate()]);
  const applied = results.flatMap(({ functions, migrations }) => [...functions, ...migrations]);
  assert.deepEqual(applied.sort(), ["0001-a.sql", "0002-b.sql", "answer.sql"]);
});

test("a migration that fails changes nothing, nor do those before it, and all can be applied again", async (t) => {
  const { url, write, writeFunction, migrate } = await workshop(t);
  await write("0001-a.sql", "CREATE TABLE thing (name text)");
  await write("0002-b.sql", "CREATE TABLE half (name text); SELECT 1 / 0");
  await writeFunction("answer.sql", answering(1));
  await assert.rejects(migrate(), /0002-b\.sql failed and changed nothing: division by zero/);
  const left = "SELECT to_regclass('half') AS half, to_regclass('thing') AS thing, to_regproc('answer') AS answer";
  assert.deepEqual(await runSql(url, left), [{ half: null, thing: null, answer: null }]);
  await write("0002-b.sql", "CREATE TABLE half (name text)");
  assert.deepEqual(await migrate(), { functions: ["answer.sql"], migrations: ["0001-a.sql", "0002-b.sql"] });
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

test("a database with a schema from before 0.1.0 is refused, and stays as it is", async (t) => {
  const { url } = await emptyDatabase(t);
  await runSql(
    url,
    `CREATE TABLE migrations (number int PRIMARY KEY, name text NOT NULL, sha256 text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now());
     INSERT INTO migrations (number, name, sha256) VALUES (1, '0001-gateway.sql', ''), (2, '0002-list-chunks.sql', '');
     CREATE TABLE resellers (id bigint)`,
  );
  const stored = () =>
    runSql(url, "SELECT tablename, (SELECT count(*)::int FROM migrations) FROM pg_tables WHERE schemaname = 'public'");
  const before = await stored();
  const advice = `start with another --data folder or an empty database, or use commit ${lastCommitWithEarlierFormats}`;
  await assert.rejects(
    migrate(url),
    (error: Error) => error instanceof MigrationError && error.message.includes(advice),
  );
  assert.deepEqual(await stored(), before);
});

test("each function has a file and a line in db/README.md", async (t) => {
  const folder = new URL("../../db/", import.meta.url);
  const readme = await readFile(new URL("README.md", folder), "utf8");
  const listed = [...readme.matchAll(/^\| `(\w+)` \| .+ \|$/gm)].map(([, name]) => name!);
  const files = await readdir(new URL("functions/", folder));
  assert.deepEqual(listed.map((name) => `${name.replaceAll("_", "-")}.sql`).sort(), files.sort());
  const { url } = await testDatabase(t);
  const found = "SELECT proname AS name FROM pg_proc WHERE pronamespace = 'public'::regnamespace";
  assert.deepEqual((await runSql<{ name: string }>(url, found)).map(({ name }) => name).sort(), listed.sort());
});
