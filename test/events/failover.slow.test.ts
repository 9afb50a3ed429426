/** A standby takes the primary's place, or the server crashes: the log of events goes on. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { Client } from "pg";
import { createDatabase } from "#db/database.ts";
import { migrate } from "#db/migrate.ts";
import { eventsBegin, noteRestore, type Position, readEvents } from "#events/log.ts";
import { createLog } from "#lib/log.ts";
import { runSql, walWriterOf } from "../harness/sql.ts";
import { failOver, startOwnServer, startStandby } from "../harness/standby.ts";

const log = createLog("test", "silent");
const notice = `INSERT INTO domain_history (domain_name, reseller_id, at, event, note) VALUES ('a.example', 1, now(), 'registry-notice', $1)`;

/** A process's connections to a server. */
function connect(t: TestContext, url: string) {
  const database = createDatabase({ url, transactionsMax: 2, applicationName: "test", log });
  t.after(() => database.close());
  return { database, log };
}

/** A database with one reseller, whose events a reader has read so far. */
async function migrated(url: string): Promise<void> {
  await migrate(url);
  await runSql(
    url,
    `INSERT INTO resellers (name, kind, rate_limit, paid_orders_day_max, hosting_accounts_max, hosting_bytes_max, created_at)
     VALUES ('a', 'reseller', 1, 1, 1, 1, now())`,
  );
}

function startReader() {
  let after: Position = eventsBegin;
  return {
    texts: [] as string[],
    async readOn(context: ReturnType<typeof connect>) {
      const page = await readEvents(context, { resellerId: 1, types: ["domain.notice"], after, limit: 10 });
      assert.equal(page.gap, undefined);
      this.texts.push(...page.events.map(({ data }) => (data as { text: string }).text));
      after = page.next;
    },
  };
}

test("a promotion begins no era, and no event of a transaction that is open then is passed over", async (t) => {
  const primary = await startOwnServer(t);
  await migrated(primary.url);
  const before = connect(t, primary.url);
  await noteRestore(before);
  const standby = await startStandby(t, primary);
  await runSql(primary.url, notice, ["before"]);
  const reader = startReader();
  await reader.readOn(before);
  await failOver(primary, standby);
  // The first one of a new primary shows its timeline.
  await runSql(standby.url, "CHECKPOINT");
  const eras = "SELECT era FROM event_log";
  const promoted = await runSql(standby.url, eras);
  const open = new Client({ connectionString: standby.url });
  open.on("error", () => {});
  await open.connect();
  t.after(() => open.end());
  await open.query("BEGIN");
  await open.query(notice, ["open"]);
  const started = connect(t, standby.url);
  await noteRestore(started);
  await runSql(standby.url, notice, ["younger"]);
  await reader.readOn(started);
  await open.query("COMMIT");
  await reader.readOn(started);
  assert.deepEqual(reader.texts, ["before", "open", "younger"]);
  assert.deepEqual(await runSql(standby.url, eras), promoted);
});

// PostgreSQL numbers transactions in memory, and logs a number with what it writes.
test("after a crash, an event of a transaction whose number was given before is not passed over", async (t) => {
  const server = await startOwnServer(t, { restart_after_crash: "off" });
  await migrated(server.url);
  const before = connect(t, server.url);
  await noteRestore(before);
  await runSql(server.url, notice, ["before"]);
  const walWriter = await walWriterOf(server.url);
  process.kill(walWriter, "SIGSTOP");
  const client = new Client({ connectionString: server.url });
  client.on("error", () => {});
  await client.connect();
  for (let count = 0; count < 5; count++) await client.query("BEGIN; SELECT pg_current_xact_id(); ROLLBACK");
  const reader = startReader();
  await reader.readOn(before);
  process.kill(walWriter, "SIGKILL");
  await server.exited;
  const again = await startOwnServer(t, {}, server.dataDir);
  const after = connect(t, again.url);
  await noteRestore(after);
  await runSql(again.url, notice, ["after"]);
  await reader.readOn(after);
  assert.deepEqual(reader.texts, ["before", "after"]);
});
