import { after } from "node:test";
import { createDatabase, type Database } from "#db/database.ts";
import { createLog } from "#lib/log.ts";
import { startTestServer, type TestServer } from "./server.ts";
import { runSql } from "./sql.ts";

export interface TestDatabase {
  url: string;
  database: Database;
}

/** Teardown runs after the tests of its scope. */
export type Scope = { after(hook: () => unknown): void };

/** In service it is 3 s, which a busy machine can take to start twenty sessions for as many queries at once. */
const patienceMs = 60_000;

let databasesMade = 0;
let ownServer: Promise<TestServer> | undefined;

// A test file that runs without test/run.ts starts its own server with its first database.
after(async () => (await ownServer)?.stop());

async function templateUrl(): Promise<string> {
  const shared = process.env.DEEDHOUSE_TEST_DATABASE_URL;
  if (shared) return shared;
  ownServer ??= startTestServer();
  return (await ownServer).templateUrl;
}

/**
 * A separate database with the migrated schema and no rows; it is dropped after the test.
 * @param scope the test context, or `{ after }` of node:test for one database per file
 */
export async function testDatabase(scope: Scope): Promise<TestDatabase> {
  // Copying the files takes half the time of writing them through the log (WAL_LOG): 26 against 53 ms.
  const url = await makeDatabase(scope, (template) => `TEMPLATE ${template} STRATEGY FILE_COPY`);
  const database = createDatabase({
    url,
    transactionsMax: 5,
    connectionTimeoutMs: patienceMs,
    applicationName: "deedhouse-test",
    log: createLog("test", "silent"),
  });
  scope.after(() => database.close());
  return { url, database };
}

/** A database without a schema, for tests of migrations; it is dropped after the test. */
export async function emptyDatabase(scope: Scope): Promise<{ url: string }> {
  return { url: await makeDatabase(scope, () => "TEMPLATE template0") };
}

async function makeDatabase(scope: Scope, optionsFor: (template: string) => string): Promise<string> {
  const template = new URL(await templateUrl());
  databasesMade += 1;
  const name = `test_${process.pid}_${databasesMade}`;
  const admin = urlOf(template, "postgres");
  await runSql(admin, `CREATE DATABASE ${name} ${optionsFor(template.pathname.slice(1))}`);
  // Hooks run in the order of registration, and the test has not registered the hooks that close its connections yet. A
  // hook registered by a hook runs after those. Our own server takes its databases with it.
  const drop = () => (ownServer ? undefined : runSql(admin, `DROP DATABASE ${name} WITH (FORCE)`));
  scope.after(() => scope.after(drop));
  return urlOf(template, name);
}

function urlOf(template: URL, name: string): string {
  const url = new URL(template);
  url.pathname = `/${name}`;
  return url.href;
}
