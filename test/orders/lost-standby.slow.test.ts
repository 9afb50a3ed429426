/** A commit that waits for a standby which is gone keeps its own request waiting, and no one else's. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { migrate } from "#db/migrate.ts";
import { sleep } from "#lib/clock.ts";
import { startApiProcess } from "../harness/api-process.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { type Reply, sendSigned } from "../harness/signed-request.ts";
import { countWaitingForStandby, runSql } from "../harness/sql.ts";
import { startOwnServer } from "../harness/standby.ts";
import { assertEnds, place, until } from "./judge.ts";

/** A role whose commits do not wait for standbys, so that one session can be the only one that does. */
async function addImpatientRole(url: string): Promise<string> {
  await runSql(url, "CREATE ROLE impatient SUPERUSER LOGIN PASSWORD 'a-test-password'");
  await runSql(url, "ALTER ROLE impatient SET synchronous_commit = local");
  const own = new URL(url);
  own.username = "impatient";
  own.password = "a-test-password";
  return own.href;
}

/** How the statement of a registration begins. */
const registration = "WITH new AS MATERIALIZED";
/** What PostgreSQL takes for the commit of a transaction with a NOTIFY. */
const notifyLocks = `SELECT FROM pg_locks WHERE locktype = 'object' AND database = 0 AND classid = 'pg_database'::regclass
  AND mode = 'AccessExclusiveLock' AND granted`;

test("while one registration waits for a lost standby, names are checked and others are carried out", async (t) => {
  const server = await startOwnServer(t);
  await migrate(server.url);
  const gateway = await startTestGateway(t, { databaseUrl: await addImpatientRole(server.url) });
  const api = await startApiProcess(t, gateway, server.url);
  const [patient, other] = [await gateway.addReseller(), await gateway.addReseller()];
  const { clock } = gateway.context;
  const post = (name: string) =>
    sendSigned({
      url: api.url,
      key: patient.key,
      clock,
      method: "POST",
      target: "/domains/registrations",
      body: { domain_name: name },
    });

  await runSql(server.url, "ALTER SYSTEM SET synchronous_standby_names = 'gone'");
  await runSql(server.url, "SELECT pg_reload_conf()");
  // The server notices a little later, and until then a commit waits for nothing.
  let waiting: Promise<Reply> | undefined;
  for (let number = 0; !waiting; number++) {
    const reply = post(`waits-${number}.example`);
    let isAnswered = false;
    const ended = reply.then(() => {
      isAnswered = true;
    });
    while (!isAnswered && (await countWaitingForStandby(server.url, registration)) === 0) await sleep(20);
    if (isAnswered) await ended;
    else waiting = reply;
  }

  for (const name of ["one.example", "two.example"]) {
    // A question whether the name is free, its answer, and what wakes the session holder: all are notifications.
    await assertEnds(gateway, other, await place(gateway, other, name), "Finished");
  }
  assert.equal(await countWaitingForStandby(server.url, registration), 1, "it still waits");
  await until("no commit keeps the lock", async () => (await runSql(server.url, notifyLocks)).length === 0);

  await runSql(server.url, "ALTER SYSTEM RESET synchronous_standby_names");
  await runSql(server.url, "SELECT pg_reload_conf()");
  const { status, headers, text } = await waiting;
  assert.equal(status, 202, text);
  assert.equal((await gateway.settled(patient, headers.location!)).status, "Finished");
});
