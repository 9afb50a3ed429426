/** The database goes back to a backup: programs that have read what is lost now get an error, and the others go on. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import { endOfEvents, noteRestore, type Position, parsePosition, positionText, readEvents } from "#events/log.ts";
import { createLog } from "#lib/log.ts";
import { assertError } from "../harness/assert-reply.ts";
import { backUp } from "../harness/backup.ts";
import { testDatabase } from "../harness/database.ts";
import { startTestGateway, type TestGateway, type TestReseller } from "../harness/gateway.ts";
import { linksOf } from "../harness/link-header.ts";
import { runSql } from "../harness/sql.ts";

const notice = `INSERT INTO domain_history (domain_name, reseller_id, at, event, note) VALUES ('a.example', $1, now(), 'registry-notice', $2)`;

const eraOf = async (url: string) => (await runSql<{ era: number }>(url, "SELECT era FROM event_log"))[0]!.era;

/** Whatever the answer is, once the api is connected again. */
async function askFor({ send }: TestGateway, reseller: TestReseller, target: string) {
  for (;;) {
    const reply = await send(reseller, "GET", target);
    if (reply.status !== 503) return reply;
    await sleep(20);
  }
}

const textsOf = (events: unknown) => (events as { data: { text: string } }[]).map(({ data }) => data.text);

test("after a restore in the same server, a place that was read since the backup is refused, and one from before it goes on", async (t) => {
  const gateway = await startTestGateway(t, { worker: false });
  const reseller = await gateway.addReseller();
  const { databaseUrl, context } = gateway;
  await noteRestore(context);
  await runSql(databaseUrl, notice, [reseller.id, "kept"]);
  const before = linksOf(await gateway.send(reseller, "GET", "/events")).next!;
  const backups = [await backUp(t, databaseUrl, "one"), await backUp(t, databaseUrl, "two")];
  const lost: string[] = [before.replace(/evt_\w+/, positionText({ era: 1, transaction: "99999999", number: "0" }))];
  for (const [index, backup] of backups.entries()) {
    await runSql(databaseUrl, notice, [reseller.id, "lost"]);
    const reply = await askFor(gateway, reseller, before);
    assert.deepEqual(textsOf(reply.body).slice(-1), ["lost"]);
    lost.push(linksOf(reply).next!);
    await backup.restore();
    await noteRestore(context);
    await runSql(databaseUrl, notice, [reseller.id, `new ${index}`]);
    const goesOn = await askFor(gateway, reseller, before);
    assert.equal(goesOn.status, 200, goesOn.text);
    assert.deepEqual(textsOf(goesOn.body), [`new ${index}`]);
    for (const place of lost) {
      const refused = await askFor(gateway, reseller, place);
      assertError(refused, "events_expired");
      assert.match(refused.text, /restored/);
    }
  }
});

test("a dump that is restored into the same database begins a new era, too", async (t) => {
  const { url, database } = await testDatabase(t);
  const context = { database, log: createLog("test", "silent") };
  await noteRestore(context);
  const era = await eraOf(url);
  await noteRestore(context);
  assert.equal(await eraOf(url), era, "a start is no restore");
  // What pg_restore --clean does.
  await runSql(url, "CREATE TABLE copy AS SELECT * FROM event_log");
  await runSql(url, "DROP TABLE event_log");
  await runSql(url, "ALTER TABLE copy RENAME TO event_log");
  await noteRestore(context);
  assert.ok((await eraOf(url)) > era);
});

async function openWriter(t: TestContext, url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  t.after(() => client.end());
  await client.query("BEGIN");
  return client;
}

test("a new era waits for the writers of the older one, and no event is passed over", async (t) => {
  const { url, database } = await testDatabase(t);
  const context = { database, log: createLog("test", "silent") };
  await noteRestore(context);
  const [reseller] = await runSql<{ id: string }>(
    url,
    `INSERT INTO resellers (name, kind, rate_limit, paid_orders_day_max, hosting_accounts_max, hosting_bytes_max, created_at)
     VALUES ('a', 'reseller', 1, 1, 1, 1, now()) RETURNING id`,
  );
  const id = Number(reseller!.id);
  const era = await eraOf(url);
  await runSql(url, notice, [id, "before"]);
  await runSql(url, "UPDATE event_log SET origin = 'another server'");
  const [early, late] = [await openWriter(t, url), await openWriter(t, url)];
  await early.query(notice, [id, "early"]);
  let isNoted = false;
  const noted = noteRestore(context).then(() => {
    isNoted = true;
  });
  const waiting =
    "SELECT FROM pg_locks WHERE relation = 'events'::regclass AND mode = 'ShareRowExclusiveLock' AND NOT granted";
  while (!isNoted && (await runSql(url, waiting)).length === 0) await sleep(5);
  assert.equal(isNoted, false, "a writer is open");
  // It comes while the era waits.
  const written = late.query(notice, [id, "late"]);
  let after: Position = parsePosition("evt_0_0_0")!;
  const texts: string[] = [];
  const readOn = async () => {
    const page = await readEvents(context, { resellerId: id, types: ["domain.notice"], after, limit: 10 });
    assert.equal(page.gap, undefined);
    after = page.next;
    texts.push(...page.events.map(({ data }) => (data as { text: string }).text));
  };
  await readOn();
  await early.query("COMMIT");
  await readOn();
  await written;
  await late.query("COMMIT");
  await noted;
  await readOn();
  await runSql(url, notice, [id, "after"]);
  await readOn();
  assert.deepEqual(texts, ["before", "early", "late", "after"]);
  assert.ok((await eraOf(url)) > era);
  assert.equal((await endOfEvents(context)).era, await eraOf(url));
});
