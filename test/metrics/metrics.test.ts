import assert from "node:assert/strict";
import { test } from "node:test";
import { raiseAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import { systemClock } from "#lib/clock.ts";
import { createLog } from "#lib/log.ts";
import { readFacts } from "#metrics/facts.ts";
import { metricPrefix, startMetrics } from "#metrics/metrics.ts";
import { testDatabase } from "../harness/database.ts";
import { masterKey, startTestGateway } from "../harness/gateway.ts";
import { insertDomains } from "../harness/insert-domains.ts";
import { createManualClock } from "../harness/manual-clock.ts";
import { runTool } from "../harness/running-system.ts";
import { runSql } from "../harness/sql.ts";

/** The series of ours, without their values. */
const seriesOf = (body: string) =>
  body.split("\n").flatMap((line) => (line.startsWith(metricPrefix) ? [line.replace(/ [^ ]+$/, "")] : []));
const metricValue = (body: string, series: string) =>
  Number(
    body
      .split("\n")
      .find((line) => line.startsWith(`${series} `))
      ?.split(" ")
      .at(-1),
  );

const startFor = ({ database, clock, log }: Pick<Context, "database" | "clock" | "log">, role: string) =>
  startMetrics({ role, clock, log, whyNotReady: () => undefined, readFacts: () => readFacts({ database, clock }) });

/** A page is long, and the assertion would print all of it. */
const assertShows = (body: string, line: RegExp) => assert.ok(line.test(body), String(line));

test("a hundred resellers with ten thousand names have the series of one", async (t) => {
  const gateway = await startTestGateway(t, { node: true });
  const { context, databaseUrl } = gateway;
  const metrics = startFor(context, "api");
  t.after(() => metrics.close());
  const ask = async () => {
    const reseller = await gateway.addReseller();
    const names = Array.from({ length: 100 }, (_, at) => `name-of-${reseller.name}-${at}.example`);
    await insertDomains(databaseUrl, reseller, names);
    await gateway.send(reseller, "GET", "/domains");
    await gateway.send(reseller, "GET", `/domains/${names[0]}`);
    await gateway.send(reseller, "BREW", `/${reseller.name}`);
    const order = await gateway.send(reseller, "POST", "/domains/registrations", { body: {} });
    assert.equal(order.status, 400);
  };
  const openOrders = (from: number, to: number) =>
    runSql(
      databaseUrl,
      `SET session_replication_role = replica;
       INSERT INTO orders (order_code, reseller_id, domain_name, suffix, registry_id, kind, input, is_urgent, status, created_at, updated_at,
         operator_note)
       SELECT 'REG-' || n, n, 'name-' || n || '.example', 'example', 'sandbox', 'create', '{}', true, 'Pending', now(), now(),
         CASE WHEN n % 10 = 1 THEN 'help' END
       FROM generate_series(${from}, ${to}) AS n`,
    );
  await raiseAlarm(context, { kind: "order", subject: "REG-1", note: "for the facts" });
  await openOrders(1, 1);
  await ask();
  const one = (await metrics.page()).body;
  assertShows(one, /http_request_duration_seconds_count\{door="v1",route="\/domains",method="GET",status="200"\} 1/);
  assertShows(one, /steps_total\{machine="chores",outcome="done"\}/);
  assert.equal(metricValue(one, "deedhouse_database_up"), 1);
  assertShows(one, /orders_open\{kind="create",status="Pending",registry="sandbox"\} 1/);
  assertShows(one, /node_free_bytes\{node="embedded"\} \d/);
  assertShows(one, /registry_owned\{registry="sandbox"\} 1/);
  assertShows(one, /alarms_open\{kind="order"\} 1/);
  await openOrders(2, 10_000);
  for (let reseller = 0; reseller < 99; reseller++) await ask();
  const again = startFor(context, "api");
  t.after(() => again.close());
  const fresh = (await again.page()).body;
  const many = (await metrics.page()).body;
  assertShows(fresh, /orders_open\{kind="create",status="Pending",registry="sandbox"\} 10000/);
  assertShows(fresh, /orders_attention\{kind="create",registry="sandbox"\} 1000/);
  // The worker does its own work meanwhile.
  const ofWorker = (series: string) => !/steps_total|step_duration|rows_due|row_due|statement|epp_/.test(series);
  assert.deepEqual(seriesOf(many).filter(ofWorker).toSorted(), seriesOf(one).filter(ofWorker).toSorted());
  assert.ok(!/reseller-\d|name-of|REG-/.test(many));
  assert.ok(seriesOf(many).length < 10_000);
});

test("facts are read once in ten seconds, and are missing while the database cannot be read in time", async (t) => {
  const { url, database } = await testDatabase(t);
  const clock = createManualClock(1_893_456_000);
  const context = { database, clock, log: createLog("test", "silent") };
  const metrics = startFor(context, "worker");
  t.after(() => metrics.close());
  const open = 'deedhouse_alarms_open{kind="order"}';
  assert.equal(metricValue((await metrics.page()).body, open), Number.NaN);
  await raiseAlarm(context, { kind: "order", subject: "REG-1", note: "new" });
  assert.equal(metricValue((await metrics.page()).body, open), Number.NaN, "these are kept");
  clock.advance(11_000);
  assert.equal(metricValue((await metrics.page()).body, open), 1);
  await runSql(url, "ALTER TABLE alarms RENAME TO alarms_hidden");
  clock.advance(11_000);
  const without = (await metrics.page()).body;
  assert.deepEqual([metricValue(without, "deedhouse_database_up"), metricValue(without, open)], [0, Number.NaN]);
  assert.equal(metricValue(without, 'deedhouse_build_info{role="worker",version="0.1.0"}'), 1);
  await runSql(url, "ALTER TABLE alarms_hidden RENAME TO alarms");
  clock.advance(11_000);
  assert.equal(metricValue((await metrics.page()).body, "deedhouse_database_up"), 1);
});

test("a backup is as old as the last one that was recorded, and before the first one as old as the schema", async (t) => {
  const { url, database } = await testDatabase(t);
  await runSql(url, "UPDATE migrations SET applied_at = applied_at - interval '2 days'");
  const age = async () => {
    const metrics = startFor({ database, clock: systemClock, log: createLog("test", "silent") }, "worker");
    const { body } = await metrics.page();
    metrics.close();
    return metricValue(body, "deedhouse_backup_last_success_seconds");
  };
  const twoDays = 2 * 24 * 60 * 60;
  assert.ok((await age()) >= twoDays);
  await runSql(url, "INSERT INTO backups (finished_at) VALUES (now() - interval '1 day')");
  const { code, stdout, stderr } = await runTool(["backups", "record", "--json"], {
    env: { ...process.env, DATABASE_URL: url, DEEDHOUSE_MASTER_KEY: `1:${masterKey.toString("hex")}` },
  });
  assert.equal(code, 0, stderr);
  const { finished_at } = JSON.parse(stdout) as { finished_at: string };
  const [newest] = await runSql<{ at: Date }>(url, "SELECT max(finished_at) AS at FROM backups");
  assert.equal(newest!.at.toISOString(), new Date(finished_at).toISOString());
  assert.ok((await age()) < twoDays / 4);
});

test("a database that is busy ends the read of the facts, and not the scrape", async (t) => {
  const { database } = await testDatabase(t);
  const context = { database, clock: createManualClock(1_893_456_000), log: createLog("test", "silent") };
  const metrics = startFor(context, "worker");
  t.after(() => metrics.close());
  const locked = Promise.withResolvers<void>();
  const scraped = Promise.withResolvers<void>();
  const holding = database.transaction(async (tx) => {
    await tx.raw.query("LOCK TABLE alarms IN ACCESS EXCLUSIVE MODE");
    locked.resolve();
    await scraped.promise;
  });
  await locked.promise;
  const { status, body } = await metrics.page();
  scraped.resolve();
  await holding;
  assert.deepEqual([status, metricValue(body, "deedhouse_database_up")], [200, 0]);
  assertShows(body, /nodejs_eventloop_lag_seconds/);
});

test("what is not known is missing: a database that cannot be read has no workers, and not none", async (t) => {
  const { database } = await testDatabase(t);
  const context = { database, clock: createManualClock(1_893_456_000), log: createLog("test", "silent") };
  const metrics = startFor(context, "worker");
  t.after(() => metrics.close());
  assert.equal(metricValue((await metrics.page()).body, "deedhouse_workers"), 0);
  database.refuse("for the test");
  context.clock.advance(11_000);
  assert.equal(metricValue((await metrics.page()).body, "deedhouse_workers"), Number.NaN);
});

test("a process that drains is not ready, and shows why from then on", async (t) => {
  const stopping = new AbortController();
  let reason: string | undefined;
  const clock = createManualClock(1_893_456_000);
  const log = createLog("test", "silent");
  const metrics = startMetrics({
    role: "api",
    clock,
    log,
    whyNotReady: () => reason,
    stopping: stopping.signal,
  });
  t.after(() => metrics.close());
  const shown = async () => {
    const { body } = await metrics.page();
    const value = (name: string) =>
      Number(new RegExp(`^deedhouse_${name}\\{role="api",.* (\\d)$`, "m").exec(body)?.[1]);
    return { ready: value("ready"), draining: value("draining") };
  };
  assert.deepEqual(await shown(), { ready: 1, draining: 0 });
  reason = "waiting for the database";
  clock.advance(11_000);
  assert.deepEqual(await shown(), { ready: 0, draining: 0 });
  reason = undefined;
  clock.advance(11_000);
  stopping.abort();
  assert.deepEqual(await shown(), { ready: 0, draining: 1 });
});
