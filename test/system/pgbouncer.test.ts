/** PgBouncer between Deedhouse and PostgreSQL. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkDatabase } from "#db/check-database.ts";
import { createDatabase, type Database } from "#db/database.ts";
import { createListener } from "#db/listener.ts";
import { statement } from "#db/statement.ts";
import { systemClock } from "#lib/clock.ts";
import { createLog } from "#lib/log.ts";
import { startApiProcess } from "../harness/api-process.ts";
import { testDatabase } from "../harness/database.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { noPgbouncer, startPgbouncer } from "../harness/pgbouncer.ts";
import { runTool } from "../harness/running-system.ts";
import { sendSigned } from "../harness/signed-request.ts";
import { runSql } from "../harness/sql.ts";

const log = createLog("test", "silent");
const session = { pool_mode: "session", default_pool_size: "40" };
const shared =
  "DATABASE_URL leads to a pooler that gives one session to several clients: set pool_mode = session and server_reset_query = DISCARD ALL (PgBouncer), or connect to PostgreSQL itself.";

const settingsOfSession = statement(
  "test-session-settings",
  `SELECT current_setting('statement_timeout') AS statement_timeout, current_setting('lock_timeout') AS lock_timeout,
     current_setting('enable_seqscan') AS seqscan, current_setting('enable_bitmapscan') AS bitmapscan,
     current_setting('jit') AS jit,
     current_setting('default_transaction_read_only') AS read_only, current_setting('application_name') AS name`,
  {
    statement_timeout: "text",
    lock_timeout: "text",
    seqscan: "text",
    bitmapscan: "text",
    jit: "text",
    read_only: "text",
    name: "text",
  },
);

async function withDatabase<Result>(
  url: string,
  applicationName: string,
  work: (database: Database) => Promise<Result>,
) {
  const database = createDatabase({ url, transactionsMax: 2, lockTimeoutMs: 70, applicationName, log });
  try {
    return await work(database);
  } finally {
    await database.close();
  }
}

test("sessions have our settings through a pooler, and the next client gets none of them", {
  skip: noPgbouncer,
}, async (t) => {
  const { url } = await testDatabase(t);
  // As PostgreSQL has it; the server of the tests says off.
  await runSql(url, `ALTER DATABASE ${new URL(url).pathname.slice(1)} SET jit = on`);
  const through = await startPgbouncer(t, url, { ...session, default_pool_size: "1" });
  const settings = {
    statement_timeout: "10s",
    lock_timeout: "70ms",
    seqscan: "off",
    bitmapscan: "off",
    jit: "off",
    read_only: "off",
  };
  for (const name of ["first", "second"]) {
    const written = await withDatabase(through, name, ({ query }) => query(settingsOfSession, {}));
    assert.deepEqual(written, [{ ...settings, name }]);
    const read = await withDatabase(through, name, ({ point }) => point(settingsOfSession, {}));
    assert.deepEqual(read, [{ ...settings, read_only: "on", name }]);
  }
  const [plain] = await runSql(
    through,
    "SELECT current_setting('enable_seqscan') AS seqscan, current_setting('jit') AS jit",
  );
  assert.deepEqual(plain, { seqscan: "on", jit: "on" });
});

test("an api and notifications work through PgBouncer in session mode", { skip: noPgbouncer }, async (t) => {
  const gateway = await startTestGateway(t, { worker: false });
  const reseller = await gateway.addReseller();
  const through = await startPgbouncer(t, gateway.databaseUrl, session);
  const { findings } = await checkDatabase(through, "test");
  assert.deepEqual(findings, []);
  const listener = createListener({ url: through, clock: systemClock, log });
  t.after(() => listener.close());
  const heard = Promise.withResolvers<string>();
  listener.on("test_channel", heard.resolve);
  await listener.listening();
  await runSql(gateway.databaseUrl, "SELECT pg_notify('test_channel', 'through')");
  assert.equal(await heard.promise, "through");
  const api = await startApiProcess(t, gateway, through);
  for (let count = 0; count < 20; count++) {
    const reply = await sendSigned({
      url: api.url,
      key: reseller.key,
      clock: gateway.context.clock,
      method: "GET",
      target: "/account",
    });
    assert.equal(reply.status, 200, reply.text);
  }
});

test("a PgBouncer in transaction mode is refused at the start and at a reconnect", { skip: noPgbouncer }, async (t) => {
  const { url } = await testDatabase(t);
  const through = await startPgbouncer(t, url, { pool_mode: "transaction" });
  const { code, stderr } = await runTool(["migrate"], { env: { ...process.env, DATABASE_URL: through } });
  assert.equal(stderr, `deedhouse: ${shared}\n`);
  assert.equal(code, 3);
  await assertRefused(through);
});

test("a PgBouncer that resets no session is refused as soon as a second client gets one", {
  skip: noPgbouncer,
}, async (t) => {
  const { url } = await testDatabase(t);
  const through = await startPgbouncer(t, url, { ...session, default_pool_size: "1", server_reset_query: "" });
  await withDatabase(through, "first", ({ query }) => query(settingsOfSession, {}));
  await assertRefused(through);
});

async function assertRefused(url: string): Promise<void> {
  const query = withDatabase(url, "second", (database) => database.query(settingsOfSession, {}));
  await assert.rejects(query, { name: "DatabaseUnavailable", message: shared });
}
