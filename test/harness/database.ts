import { after, type TestContext } from "node:test";
import { createDatabase, type Database } from "#db/database.ts";
import { createLog } from "#lib/log.ts";
import { startTestServer, type TestServer } from "./server.ts";
import { runSql } from "./sql.ts";

export interface TestDatabase {
  url: string;
  database: Database;
}

/** What is torn down is torn down when the tests that asked for it are done. */
type Scope = Pick<TestContext, "after">;

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
 * A database of the test's own, with the migrated schema and no rows; it goes away after the test.
 * @param scope the test context, or `{ after }` of node:test for one database per file
 */
export async function testDatabase(scope: Scope): Promise<TestDatabase> {
  const template = new URL(await templateUrl());
  databasesMade += 1;
  const name = `test_${process.pid}_${databasesMade}`;
  const admin = urlOf(template, "postgres");
  // Copying the files takes half the time of writing them through the log (WAL_LOG): 26 and 53 ms.
  await runSql(admin, `CREATE DATABASE ${name} TEMPLATE ${template.pathname.slice(1)} STRATEGY FILE_COPY`);
  const url = urlOf(template, name);
  const database = createDatabase({
    url,
    transactionsMax: 5,
    applicationName: "deedhouse-test",
    log: createLog("test", "silent"),
  });
  scope.after(async () => {
    await database.close();
    await runSql(admin, `DROP DATABASE ${name} WITH (FORCE)`);
  });
  return { url, database };
}

function urlOf(template: URL, name: string): string {
  const url = new URL(template);
  url.pathname = `/${name}`;
  return url.href;
}
