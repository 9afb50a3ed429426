import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Client } from "pg";
import { type MigrateOptions, migrate } from "#db/migrate.ts";
import { MigrationError } from "#db/migration-files.ts";
import { lastCommitWithEarlierFormats } from "#lib/earlier-format.ts";
import { release } from "#lib/release.ts";
import { emptyDatabase, testDatabase } from "../../test/harness/database.ts";
import { runSql, untilHeldUp } from "../../test/harness/sql.ts";

/** A folder of migrations and functions, and an empty database to apply them to. */
async function workshop(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), "deedhouse-migrations-"));
  t.after(() => rm(folder, { recursive: true }));
  for (const name of ["migrations", "functions"]) await mkdir(join(folder, name));
  const { url } = await emptyDatabase(t);
  return {
    url,
    write: (name: string, sql: string, head = "-- expand") =>
      writeFile(join(folder, "migrations", name), `${head}\n${sql}`),
    writeFunction: (name: string, sql: string) => writeFile(join(folder, "functions", name), sql),
    remove: (name: string) => rm(join(folder, "migrations", name)),
    /** What it has applied. */
    migrate: async () => {
      const { functions, migrations } = await migrate(url, { folder });
      return { functions, migrations };
    },
    migrateWith: (options: MigrateOptions) => migrate(url, { folder, ...options }),
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

test("leaves the schema of a newer release as it is, with its functions, and refuses one with its contracts", async (t) => {
  const { url, write, writeFunction, remove, migrateWith } = await workshop(t);
  await write("0001-a.sql", "CREATE TABLE thing (name text)");
  await write("0002-b.sql", "CREATE TABLE other (name text)");
  await writeFunction("answer.sql", answering(2));
  await migrateWith({});
  await remove("0002-b.sql");
  await writeFunction("answer.sql", answering(1));
  assert.deepEqual(await migrateWith({}), { functions: [], migrations: [], contracts: [], newer: ["0002-b.sql"] });
  assert.equal(await answerOf(url), 2);
  await write("0002-b.sql", "CREATE TABLE other (name text)");
  await write("0003-c.sql", "ALTER TABLE thing DROP COLUMN name", "-- contract");
  await migrateWith({ contract: true });
  await remove("0003-c.sql");
  await assert.rejects(migrateWith({}), {
    name: "MigrationError",
    message:
      "The database has applied 0003-c.sql, a contract of a newer release, which removed what this release uses: start that release, or a later one.",
  });
});

test("a contract waits for --contract, except on an empty database, and later expands do not wait for it", async (t) => {
  const { url, write, migrateWith } = await workshop(t);
  await write("0001-a.sql", "CREATE TABLE thing (name text, old text)");
  await write("0002-b.sql", "ALTER TABLE thing DROP COLUMN old", "-- contract");
  const { migrations } = await migrateWith({});
  assert.deepEqual(migrations, ["0001-a.sql", "0002-b.sql"]);
  await write("0003-c.sql", "ALTER TABLE thing DROP COLUMN name", "-- contract");
  await write("0004-d.sql", "ALTER TABLE thing ADD COLUMN size int");
  const expanded = { functions: [], migrations: ["0004-d.sql"], contracts: ["0003-c.sql"], newer: [] };
  assert.deepEqual(await migrateWith({}), expanded);
  assert.deepEqual(await migrateWith({}), { ...expanded, migrations: [] });
  assert.deepEqual(await migrateWith({ contract: true }), {
    functions: [],
    migrations: ["0003-c.sql"],
    contracts: [],
    newer: [],
  });
  const columns = "SELECT column_name AS name FROM information_schema.columns WHERE table_name = 'thing'";
  assert.deepEqual(await runSql(url, columns), [{ name: "size" }]);
});

test("refuses contracts while an older release was seen in the last 2 minutes, and says where", async (t) => {
  const { url, write, migrateWith } = await workshop(t);
  await write(
    "0001-a.sql",
    "CREATE TABLE processes (host text, role text, pid int, release text, started_at timestamptz, seen_at timestamptz)",
  );
  await migrateWith({});
  await write("0002-b.sql", "CREATE TABLE other (name text)");
  await write("0003-c.sql", "DROP TABLE other", "-- contract");
  const [older, newer, seen] = ["0.0.9", "99.0.0", (ago: string) => `now() - interval '${ago}'`];
  await runSql(
    url,
    `INSERT INTO processes VALUES ('web-1', 'api', 17, '${older}', now(), ${seen("30 seconds")}),
       ('web-2', 'worker', 18, '${older}', now(), ${seen("3 minutes")}), ('web-3', 'api', 19, '${release}', now(), now()),
       ('web-4', 'api', 20, '${newer}', now(), now())`,
  );
  await assert.rejects(migrateWith({ contract: true }), (error: Error) => {
    assert.match(error.message, /: the api of release 0\.0\.9 on web-1 \(process 17\), seen 3\d s ago\. Upgrade them/);
    assert.doesNotMatch(error.message, /web-[234]/);
    return error instanceof MigrationError;
  });
  assert.deepEqual((await migrateWith({})).migrations, ["0002-b.sql"], "it applied something before it refused");
  await runSql(url, "DELETE FROM processes WHERE host = 'web-1'");
  assert.deepEqual((await migrateWith({ contract: true })).migrations, ["0003-c.sql"]);
});

test("a table that is in use is asked for again and again, and everybody else passes in between", async (t) => {
  const { url, write, writeFunction, migrate, migrateWith } = await workshop(t);
  await write("0001-a.sql", "CREATE TABLE thing (name text)");
  await migrate();
  await write("0002-b.sql", "CREATE TABLE other (name text)");
  await write("0003-c.sql", "ALTER TABLE thing ADD COLUMN size int");
  await writeFunction("answer.sql", answering(1));
  const holder = new Client({ connectionString: url });
  await holder.connect();
  await holder.query("BEGIN; SELECT FROM thing");
  const left = "SELECT to_regclass('other') AS other, to_regproc('answer') AS answer";
  const given = migrateWith({ lockPatienceMs: 0 });
  given.catch(() => {});
  await untilHeldUp(url);
  // A request, which stands behind the migration, waits for 250 ms at most.
  await runSql(url, "SET lock_timeout = 250; INSERT INTO thing VALUES ('passed')");
  await assert.rejects(
    given,
    /^MigrationError: 0003-c\.sql failed and changed nothing: in 2 s, it did not get the lock of a table\./,
  );
  assert.deepEqual(await runSql(url, left), [{ other: null, answer: null }]);
  const said: string[] = [];
  const waiting = Promise.withResolvers<void>();
  const migrated = migrateWith({ say: (sentence) => waiting.resolve(void said.push(sentence)) });
  await waiting.promise;
  // Its turn is over, so a write does not wait for it.
  await runSql(url, "INSERT INTO thing VALUES ('a')");
  await holder.query("COMMIT");
  await holder.end();
  assert.deepEqual((await migrated).migrations, ["0002-b.sql", "0003-c.sql"]);
  assert.match(said[0]!, /^0003-c\.sql waits for a table that others use: attempt 2 in 1 s$/);
});

test("while a vacuum keeps a table, reads and writes do not wait behind the migration that waits for it", async (t) => {
  const { url, write, migrate } = await workshop(t);
  await write("0001-a.sql", "CREATE TABLE thing (name text); CREATE TABLE other (name text)");
  await migrate();
  await write("0002-b.sql", "ALTER TABLE thing ADD COLUMN size int");
  const vacuum = new Client({ connectionString: url });
  await vacuum.connect();
  await vacuum.query("BEGIN; LOCK TABLE thing IN SHARE UPDATE EXCLUSIVE MODE");
  const migrated = migrate();
  await untilHeldUp(url);
  await runSql(url, "SET lock_timeout = 1; SELECT FROM thing; INSERT INTO thing VALUES ('a')");
  await vacuum.query("COMMIT");
  await vacuum.end();
  assert.deepEqual((await migrated).migrations, ["0002-b.sql"]);
});

test("an index is built without a transaction, and built again when its build was interrupted", async (t) => {
  const { url, write, migrate, migrateWith } = await workshop(t);
  const alone = "-- expand, without a transaction";
  await write("0001-a.sql", "CREATE TABLE thing (name text); INSERT INTO thing VALUES ('a'), ('a')");
  await write(
    "0002-b.sql",
    "-- Names are looked up.\nCREATE UNIQUE INDEX CONCURRENTLY thing_name ON thing (name);",
    alone,
  );
  await write("0003-c.sql", "ALTER TABLE thing ADD CONSTRAINT short CHECK (length(name) < 9) NOT VALID");
  await write("0004-d.sql", "ALTER TABLE thing VALIDATE CONSTRAINT short", alone);
  await assert.rejects(migrate(), /0002-b\.sql failed .*could not create unique index/);
  const valid = "SELECT indisvalid AS is_valid FROM pg_index WHERE indexrelid = 'thing_name'::regclass";
  assert.deepEqual(await runSql(url, valid), [{ is_valid: false }]);
  await runSql(url, "DELETE FROM thing WHERE ctid = (SELECT min(ctid) FROM thing)");
  const said: string[] = [];
  const { migrations } = await migrateWith({ say: (sentence) => said.push(sentence) });
  assert.deepEqual(migrations, ["0002-b.sql", "0003-c.sql", "0004-d.sql"]);
  assert.match(said.join("\n"), /the index thing_name is invalid/);
  assert.deepEqual(await runSql(url, valid), [{ is_valid: true }]);
  // Killed between the build and its record.
  await runSql(url, "DELETE FROM migrations WHERE number > 1; ALTER TABLE thing DROP CONSTRAINT short");
  assert.deepEqual((await migrate()).migrations, migrations);
});

test("two processes may build an index at once: the second one waits in no transaction", async (t) => {
  const { write, migrate } = await workshop(t);
  await write("0001-a.sql", "CREATE TABLE thing (name text)");
  await migrate();
  await write("0002-b.sql", "CREATE INDEX CONCURRENTLY thing_name ON thing (name)", "-- expand, without a transaction");
  const results = await Promise.all([migrate(), migrate(), migrate()]);
  assert.deepEqual(
    results.flatMap(({ migrations }) => migrations),
    ["0002-b.sql"],
  );
});

test("refuses a file without a level, and one without a transaction that does more than one thing", async (t) => {
  const { write, migrate } = await workshop(t);
  await write("0001-a.sql", "CREATE TABLE thing (name text)", "-- A table.");
  await assert.rejects(migrate(), /0001-a\.sql does not say its level: begin it with "-- expand"/);
  const two = "CREATE INDEX CONCURRENTLY one ON thing (name); CREATE INDEX CONCURRENTLY two ON thing (name)";
  await write("0001-a.sql", two, "-- expand, without a transaction");
  await assert.rejects(migrate(), /0001-a\.sql runs without a transaction, so it may only be one/);
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
