import assert from "node:assert/strict";
import { after, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import { eventTypes, type ShownEvent } from "#events/catalogue.ts";
import { endOfEvents, noteRestore, positionText } from "#events/log.ts";
import { assertError } from "../harness/assert-reply.ts";
import { startTestGateway, type TestReseller } from "../harness/gateway.ts";
import { linksOf } from "../harness/link-header.ts";
import { runSql } from "../harness/sql.ts";

const gateway = await startTestGateway({ after }, { node: true });
const owner = await gateway.addReseller();
const other = await gateway.addReseller();
const pack = await gateway.addPack();
const wait = { headers: { prefer: "wait=30" } };

interface Read {
  events: ShownEvent[];
  /** Where it goes on. */
  next: string;
}

async function read(as: TestReseller, target: string, options = {}): Promise<Read> {
  const reply = await gateway.send(as, "GET", target, options);
  assert.equal(reply.status, 200, reply.text);
  return { events: reply.body as ShownEvent[], next: linksOf(reply).next! };
}

/** Reads on until events of these types have come, in this order; any other type may come between them. */
async function untilTypes(as: TestReseller, from: string, ...types: string[]): Promise<Read> {
  const events: ShownEvent[] = [];
  let target = from;
  for (const type of types) {
    while (!events.some((event) => event.type === type)) {
      const { events: more, next } = await read(as, target, wait);
      assert.ok(more.length > 0, `no ${type} came: ${JSON.stringify(events)}`);
      events.push(...more);
      target = next;
    }
  }
  const told = events.map(({ type }) => type).filter((type) => types.includes(type));
  assert.deepEqual(told, types);
  return { events, next: target };
}

/** Where events that are written from now on begin: transactions of other tests end first. */
async function fromNow(types: string): Promise<string> {
  const [now] = await runSql<{ id: string }>(gateway.databaseUrl, "SELECT pg_current_xact_id()::text AS id");
  const running = "SELECT FROM pg_snapshot_xip(pg_current_snapshot()) AS running (id) WHERE id <= $1::text::xid8";
  while ((await runSql(gateway.databaseUrl, running, [now!.id])).length > 0) await sleep(10);
  return `/events?after=${positionText(await endOfEvents(gateway.context))}&types=${types}`;
}

/** Writes a history's note, and with it an event. */
const notice = `INSERT INTO domain_history (domain_name, reseller_id, at, event, note) VALUES ($1, $2, now(), 'registry-notice', $1)`;
const textsOf = (events: ShownEvent[]) => events.map(({ data }) => (data as { text: string }).text);

/** @returns the connection of a transaction that has written, or could */
async function openTransaction(t: TestContext, databaseUrl: string): Promise<Client> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  t.after(() => client.end());
  await client.query("BEGIN");
  await client.query("SELECT pg_current_xact_id()");
  return client;
}

async function register(as: TestReseller, name: string): Promise<string> {
  const { status, headers } = await gateway.send(as, "POST", "/domains/registrations", { body: { domain_name: name } });
  assert.equal(status, 202);
  const order = await gateway.settled(as, headers.location!);
  return order.order_code as string;
}

test("a registration is reported once, to its reseller alone", async () => {
  const start = await fromNow("domain.*,order.*");
  const code = await register(owner, "told.example");
  const { events, next } = await untilTypes(owner, start, "domain.registered", "order.finished");
  const [registered, finished] = events as [ShownEvent, ShownEvent];
  const domain = await gateway.send(owner, "GET", "/domains/told.example");
  const { expiration_date } = domain.body as { expiration_date: string };
  assert.deepEqual(registered.data, { domain_name: "told.example", expiration_date, order_code: code });
  assert.deepEqual(finished.data, {
    order_code: code,
    kind: "create",
    domain_name: "told.example",
    status: "Finished",
  });
  assert.match(registered.id, /^evt_1_[0-9]+_[0-9]+$/);
  assert.notEqual(registered.id, finished.id);
  assert.deepEqual((await read(owner, next)).events, [], "nothing comes twice");
  assert.deepEqual(
    (await read(owner, `/v1/events?after=${registered.id}`)).events[0],
    finished,
    "an id is a place, too",
  );
  assert.deepEqual((await read(other, "/events")).events, []);
});

test("a name's life is reported: renewal switch, renewal, failure, departure", async () => {
  await register(owner, "life.example");
  const start = await fromNow("domain.*,order.*");
  const send = (method: string, path: string, body?: object) =>
    gateway.send(owner, method, `/domains/life.example${path}`, { body });
  assert.equal((await send("PUT", "/renew", { will_renew: false })).status, 204);
  const { expiration_date } = (await send("GET", "")).body as { expiration_date: string };
  const renewed = await send("POST", "/renewals", { years: 1, expiration_date });
  assert.equal(renewed.status, 202, renewed.text);
  await gateway.settled(owner, renewed.headers.location!);
  const deleted = await send("DELETE", "?confirm=life.example");
  assert.equal(deleted.status, 202, deleted.text);
  await gateway.settled(owner, deleted.headers.location!);
  const { events } = await untilTypes(owner, start, "domain.will_renew_changed", "domain.renewed", "domain.left");
  const dataOf = (type: string) => events.find((event) => event.type === type)!.data as Record<string, unknown>;
  assert.equal(dataOf("domain.will_renew_changed").will_renew, false);
  assert.ok((dataOf("domain.renewed").expiration_date as string) > expiration_date);
  assert.equal(dataOf("domain.left").reason, "deleted");
  const kinds = events.flatMap(({ type, data }) =>
    type === "order.finished" ? [(data as { kind: string }).kind] : [],
  );
  assert.deepEqual(kinds, ["renew", "delete"]);
});

test("an order that fails says why", async () => {
  const start = await fromNow("order.*");
  await register(owner, "code-2306-refused.example");
  const { events } = await untilTypes(owner, start, "order.failed");
  const data = events[0]!.data as Record<string, string>;
  assert.equal(data.domain_name, "code-2306-refused.example");
  assert.match(data.error_code!, /^order_/);
  assert.ok(data.error_text!.length > 10, data.error_text);
});

test("a hosting account's life is reported to keys that may read hosting", async () => {
  const start = await fromNow("hosting.*");
  const created = await gateway.send(owner, "POST", "/hostingaccounts", {
    body: { identifier: "told.example", servicepack_id: pack, password: "hc9-Ruvv-zz8x" },
  });
  assert.equal(created.status, 202, created.text);
  await gateway.settled(owner, created.headers.location!);
  assert.equal((await gateway.send(owner, "DELETE", "/hostingaccounts/told.example")).status, 202);
  const { events } = await untilTypes(owner, start, "hosting.ready", "hosting.removed");
  assert.deepEqual(events[0]!.data, { identifier: "told.example", status: "Ready" });
  const blind = await gateway.addKey(owner, { scopes: ["domains:read"] });
  assert.deepEqual((await read(blind, start)).events, []);
  assert.ok((await read(blind, "/events")).events.every(({ type }) => !type.startsWith("hosting.")));
});

test("no event is passed over: one of an older transaction that commits last comes in its place", async (t) => {
  const start = await fromNow("domain.notice");
  const older = await openTransaction(t, gateway.databaseUrl);
  await older.query(notice, ["older.example", owner.id]);
  await runSql(gateway.databaseUrl, notice, ["younger.example", owner.id]);
  const early = await read(owner, start);
  assert.deepEqual(early.events, [], "the younger one waits for the older one");
  const waiting = read(owner, early.next, wait);
  await older.query("COMMIT");
  const { events, next } = await waiting;
  const more = events.length < 2 ? (await read(owner, next, wait)).events : [];
  assert.deepEqual(textsOf([...events, ...more]), ["older.example", "younger.example"]);
});

test("a transaction of another database of the same server holds no event back", async (t) => {
  const start = await fromNow("domain.notice");
  await openTransaction(t, gateway.databaseUrl.replace(/[^/]+$/, "postgres"));
  await runSql(gateway.databaseUrl, notice, ["meanwhile.example", owner.id]);
  const { events, next } = await read(owner, start);
  assert.deepEqual(textsOf(events), ["meanwhile.example"]);
  assert.deepEqual((await read(owner, next)).events, []);
});

// A transaction of another database that ends during a look counts in it, so the next look can see less.
test("a place that was reached does not go back", async (t) => {
  await openTransaction(t, gateway.databaseUrl);
  const [reached] = await runSql<{ id: string }>(
    gateway.databaseUrl,
    "SELECT concat_ws('_', 'evt', era, pg_snapshot_xmax(pg_current_snapshot()), 7) AS id FROM event_log",
  );
  const { events, next } = await read(owner, `/events?after=${reached!.id}`);
  assert.deepEqual(events, []);
  assert.equal(new URL(next, "http://gateway.invalid").searchParams.get("after"), reached!.id);
});

test("a page leads to the next, however small it is", async () => {
  const { events: all } = await read(owner, "/events");
  const seen: ShownEvent[] = [];
  let target = "/events?take=1";
  for (let count = 0; count < all.length; count++) {
    const { events, next } = await read(owner, target);
    assert.equal(events.length, 1);
    seen.push(...events);
    target = next;
  }
  assert.deepEqual(seen, all);
  assert.ok(all.every(({ type }) => (eventTypes as readonly string[]).includes(type)));
});

test("a place that nobody has is refused, in words", async () => {
  for (const [query, field] of [
    ["after=x", "after"],
    ["after=evt_1_2_3&after=evt_1_2_3", "after"],
    ["types=domain.gone", "types"],
    ["types=domain.*,", "types"],
    ["take=0", "take"],
  ]) {
    const reply = await gateway.send(owner, "GET", `/events?${query}`);
    assertError(reply, "bad_request");
    assert.match(reply.text, new RegExp(`"field":"${field}"`));
  }
});

test("a place before deleted events, or of a database that was restored, is refused as a gap", async () => {
  const gapped = await gateway.addReseller();
  const place = /after=(\w+)/.exec(await fromNow("domain.*"))![1];
  await runSql(gateway.databaseUrl, notice, ["deleted.example", owner.id]);
  await runSql(
    gateway.databaseUrl,
    `UPDATE event_log SET deleted_era = last.era, deleted_transaction = last.transaction, deleted_number = last.number
     FROM (SELECT era, transaction, number FROM events ORDER BY era DESC, transaction DESC, number DESC LIMIT 1) AS last`,
  );
  assertError(await gateway.send(gapped, "GET", `/events?after=${place}`), "events_expired");
  const stream = { headers: { accept: "text/event-stream" } };
  assertError(await gateway.send(gapped, "GET", `/events?after=${place}`, stream), "events_expired");
  assert.deepEqual((await read(gapped, "/events")).events, [], "without a place it begins with the oldest");
  const ahead = await gateway.send(gapped, "GET", "/events?after=evt_1_900000000000_1");
  assertError(ahead, "events_expired");
  assert.match(ahead.text, /restored/);
});

test("after a restore, new events follow all older ones", async () => {
  const start = await fromNow("domain.notice");
  // As if the backup were of a cluster whose transactions had higher numbers.
  await runSql(gateway.databaseUrl, "UPDATE event_log SET origin = 'another cluster'");
  await runSql(
    gateway.databaseUrl,
    `INSERT INTO events (era, transaction, reseller_id, at, type, subject, data)
     VALUES (1, '800000000000', $1, now(), 'domain.notice', 'a.example', '{"text": "before"}')`,
    [owner.id],
  );
  await noteRestore(gateway.context);
  await noteRestore(gateway.context);
  await runSql(
    gateway.databaseUrl,
    "INSERT INTO domain_history (domain_name, reseller_id, at, event, note) VALUES ('a.example', $1, now(), 'registry-notice', 'after')",
    [owner.id],
  );
  const texts: string[] = [];
  let target = start;
  while (texts.length < 2) {
    const { events, next } = await read(owner, target, wait);
    texts.push(...events.map(({ data }) => (data as { text: string }).text));
    target = next;
  }
  assert.deepEqual(texts, ["before", "after"]);
  assert.doesNotMatch(target, /after=evt_1_/);
});
