import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { connectionConfig } from "#db/connection.ts";
import { createDatabase, type Database } from "#db/database.ts";
import { createListener } from "#db/listener.ts";
import { createNotifier } from "#db/notifier.ts";
import { statement } from "#db/statement.ts";
import { systemClock, waitAtMost } from "#lib/clock.ts";
import { createLog } from "#lib/log.ts";
import { testDatabase } from "../../test/harness/database.ts";
import { endSessions, runSql } from "../../test/harness/sql.ts";

const channel = "thing_changed";
const applicationName = "notifier-test";
const log = createLog("test", "silent");
const askFor = statement(
  "test-notify-after-commit",
  "SELECT notify_after_commit($channel, payload)::text AS asked FROM unnest($payloads::text[]) AS payload",
  { asked: "text" },
);
const ask = (database: Pick<Database, "query">, ...payloads: string[]) => database.query(askFor, { channel, payloads });

async function open(t: TestContext) {
  const { url } = await testDatabase(t);
  const database = createDatabase({ url, transactionsMax: 2, applicationName, log });
  const listener = createListener({ url, clock: systemClock, log });
  t.after(() => listener.close());
  const heard: string[] = [];
  let look = () => {};
  listener.on(channel, (payload) => {
    heard.push(payload);
    look();
  });
  await listener.listening();
  /** Resolves once this has arrived. What was sent before it on any connection has arrived, too. */
  const until = async (payload: string) => {
    while (!heard.includes(payload)) {
      const { promise, resolve } = Promise.withResolvers<void>();
      look = resolve;
      await promise;
    }
  };
  const sendOther = async (payload: string) => {
    await runSql(url, "SELECT pg_notify($1, $2)", [channel, payload]);
    await until(payload);
  };
  return { url, database, heard, until, sendOther };
}

test("a notification follows the commit that it is about, and none follows a rollback", async (t) => {
  const { database, heard, until, sendOther } = await open(t);
  t.after(() => database.close());
  const undone = database.transaction(async (tx) => {
    await ask(tx, "undone");
    throw new Error("changed its mind");
  });
  await assert.rejects(undone, /changed its mind/);
  await database.transaction(async (tx) => {
    await ask(tx, "one", "two", "one");
    await ask(tx, "two");
    await sendOther("of another");
    assert.deepEqual(heard, ["of another"], "nothing is sent before the commit");
  });
  await ask(database, "alone");
  await until("alone");
  assert.deepEqual(heard, ["of another", "one", "two", "alone"], "each once, in their order");
});

test("a database that is closed sends the notifications of its last transactions", async (t) => {
  const { database, until } = await open(t);
  await ask(database, "last");
  await database.close();
  await until("last");
});

test("the same notification, asked for by several transactions at the same moment, is sent once", async (t) => {
  const { url, database, heard, until } = await open(t);
  t.after(() => database.close());
  const notifier = createNotifier(connectionConfig(url, applicationName, { isForgetful: true }), log);
  t.after(() => notifier.close());
  for (const payload of ["one", "two", "three"])
    notifier.send([
      { channel, payload: "same" },
      { channel, payload },
    ]);
  await until("three");
  assert.deepEqual(heard, ["same", "one", "two", "three"]);
});

test("after its connection broke, the next notification opens another one", async (t) => {
  const { url, database, heard, until } = await open(t);
  t.after(() => database.close());
  await ask(database, "before");
  await until("before");
  await endSessions(url, applicationName, "idle");
  // What meets the broken connections is lost.
  const again = async (): Promise<void> => {
    await ask(database, "after").catch(() => {});
    await waitAtMost(50, until("after"));
    if (!heard.includes("after")) await again();
  };
  await again();
});
