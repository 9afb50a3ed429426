/** The core of the tests on each PostgreSQL that we take, but the one that comes along, on which all others run. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { noDebianPostgres, startMigratedPostgres } from "../harness/debian-postgres.ts";
import { fetchPostgres } from "../harness/packaged-postgres.ts";

const core = [
  "src/db/database.test.ts",
  "src/db/listener.test.ts",
  "src/db/notifier.test.ts",
  "test/api/several-processes.test.ts",
  "test/events/events.test.ts",
  "test/orders/straight.test.ts",
  "test/orders/cancel.test.ts",
  "test/statements.test.ts",
];
const resolver = new URL("../harness/quick-resolve.ts", import.meta.url);
const root = fileURLToPath(new URL("../..", import.meta.url));

/** @param url of a migrated template database */
async function assertCoreWorks(url: string): Promise<void> {
  const { NODE_TEST_CONTEXT: _, ...environment } = process.env;
  const tests = spawn(process.execPath, [`--import=${resolver}`, "--test", "--test-reporter=tap", ...core], {
    cwd: root,
    env: { ...environment, DEEDHOUSE_TEST_DATABASE_URL: url },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [output, [code]] = await Promise.all([text(tests.stdout), once(tests, "exit")]);
  assert.equal(code, 0, output.match(/^ *not ok [\s\S]*?\.\.\.$/gm)?.join("\n"));
  assert.match(output, /^# fail 0$/m);
}

async function assertCoreWorksOn(t: TestContext, version: string): Promise<void> {
  const fetched = await fetchPostgres(t, version);
  if ("missing" in fetched) return t.skip(fetched.missing);
  await assertCoreWorks(await startMigratedPostgres(t, fetched.binDir));
}

test("statements, orders, events and several apis work on PostgreSQL 15", { skip: noDebianPostgres }, async (t) => {
  await assertCoreWorks(await startMigratedPostgres(t));
});

for (const version of ["16.14.0-beta.17", "17.10.0-beta.17"]) {
  test(`statements, orders, events and several apis work on PostgreSQL ${version}`, (t) =>
    assertCoreWorksOn(t, version));
}
