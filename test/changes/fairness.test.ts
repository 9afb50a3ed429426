import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { dueValues } from "#domains/orders/due.ts";
import { assertError } from "../harness/assert-reply.ts";
import { startTestGateway, type TestGateway } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { createSteeredClock } from "../harness/steered-clock.ts";
import { order, own, type Stage, startStage } from "./stage.ts";

const sessionsMax = 4;
/** Half of the sessions. */
const settingMax = sessionsMax / 2;
const crowdCount = 12;
const locked = { transfer_locked: true };
const lockOf = (name: string) => `/domains/${name}/transfer-lock`;

/** One reseller's orders about many names, of which two are held at the registry, and a stage of another reseller. */
async function startCrowd(t: TestContext) {
  const names = Array.from({ length: crowdCount }, (_, index) => `many-${index}.example`);
  const stage = await startStage(t, names, { registry: { sessionsMax, queryTimeoutMs: 60_000 } });
  const { gateway } = stage;
  const other: Stage = { gateway, reseller: await gateway.addReseller() };
  await own(other, "single.example");
  const hold = gateway.registry.hold({ command: "domain:info", at: "before-execution" });
  const crowd: string[] = [];
  for (const name of names) crowd.push(await order(stage, "PUT", lockOf(name), locked));
  await hold.reached(settingMax);
  return { stage, other, hold, crowd };
}

/** The names whose locks were set, in this order. */
const lockedNames = ({ registry }: TestGateway) =>
  registry.store.journal
    .entries({ command: "domain:update" })
    .filter(({ direction }) => direction === "in")
    .map(({ name }) => name);

test("resellers take turns: many orders of one do not delay the single order of another", async (t) => {
  const { stage, other, hold, crowd } = await startCrowd(t);
  const { gateway, reseller } = stage;
  const single = await order(other, "PUT", lockOf("single.example"), locked);
  hold.release();
  assert.equal((await gateway.settled(other.reseller, single)).status, "Finished");
  for (const location of crowd) assert.equal((await gateway.settled(reseller, location)).status, "Finished");
  const place = lockedNames(gateway).indexOf("single.example");
  // Those that had begun, and one whose turn came at the same moment as its own.
  assert.ok(place >= 0 && place <= 2 * settingMax, `it was number ${place}`);
  assert.equal(lockedNames(gateway).length, crowdCount + 1);
});

test("orders that set a value hold at most half of the sessions, and an urgent order does not wait for them", async (t) => {
  const { stage, other, hold } = await startCrowd(t);
  const { gateway } = stage;
  const { store } = gateway.registry;
  const gone = await order(other, "DELETE", "/domains/single.example?confirm=single.example");
  // Its own look is held, too: beside those of the crowd, of which no other has begun.
  await hold.reached(settingMax + 1);
  assert.equal(hold.waiting(), settingMax + 1);
  hold.release();
  assert.equal((await gateway.settled(other.reseller, gone)).status, "Finished");
  assert.equal(store.domains.find("single.example"), undefined);
});

const insertOrders = `INSERT INTO orders (order_code, reseller_id, domain_name, registry_id, kind, input, is_urgent, status,
    next_step_at, created_at, updated_at)
  SELECT concat('CHG-', n, ' of ', $1::bigint, ' at ', $3::text), $1, concat('n', n, '-', $1::bigint, '.example'), 'sandbox', 'transfer-lock', '{}', false,
    'NotProvisioned', now() + $3::text::interval, now(), now() FROM generate_series(1, $2::int) AS n`;

async function startWaiting(t: TestContext) {
  const clock = createSteeredClock();
  const gateway = await startTestGateway(t, { worker: false, clock });
  const resellers = [await gateway.addReseller(), await gateway.addReseller(), await gateway.addReseller()];
  const insert = (reseller: number, count: number, after = "-1 minute") =>
    runSql(gateway.databaseUrl, insertOrders, [resellers[reseller]!.id, count, after]);
  return { gateway, resellers, clock, insert };
}

type Waiting = Awaited<ReturnType<typeof startWaiting>>;

/** Takes orders as the engine does, this many at a time. @returns whose they were, by resellers' numbers */
async function take({ gateway: { context, databaseUrl }, resellers }: Waiting, counts: readonly number[]) {
  const rows = dueValues(context, context.registries[0]!);
  const stored = await runSql<{ id: string; reseller_id: string }>(databaseUrl, "SELECT id, reseller_id FROM orders");
  const numberOf = (id: number) => {
    const owner = stored.find((row) => Number(row.id) === id)?.reseller_id;
    return resellers.findIndex((reseller) => reseller.id === Number(owner));
  };
  const taken: number[] = [];
  const owners: number[][] = [];
  for (const count of counts) {
    const first = await rows.first(count, taken);
    const due = first.filter(({ next_step_at: at }) => at <= context.clock.now());
    assert.ok(first.length <= count && first.slice(due.length).length <= 1);
    taken.push(...due.map(({ id }) => id));
    owners.push(due.map(({ id }) => numberOf(id)));
  }
  assert.equal(new Set(taken).size, taken.length, "no order is taken twice");
  return owners;
}

test("the turn goes on after the reseller who had the last one, and nobody is passed over", async (t) => {
  const waiting = await startWaiting(t);
  await waiting.insert(2, 50, "-1 hour");
  await waiting.insert(0, 3);
  await waiting.insert(1, 2);
  await waiting.insert(1, 5, "1 hour");
  assert.deepEqual(await take(waiting, [1, 1, 1, 1, 2, 4, 1, 3]), [
    [0],
    [1],
    [2],
    [0],
    [1, 2],
    [0, 2, 2, 2],
    [2],
    [2, 2, 2],
  ]);
});

test("when nothing is due, the order that is due next says how long to wait", async (t) => {
  const { gateway, insert } = await startWaiting(t);
  await insert(0, 2, "2 hours");
  await insert(1, 1, "1 hour");
  const rows = dueValues(gateway.context, gateway.context.registries[0]!);
  const [next, ...others] = await rows.first(5, []);
  assert.deepEqual(others, []);
  const earliest = "SELECT id FROM orders ORDER BY next_step_at LIMIT 1";
  assert.equal(next?.id, Number((await runSql<{ id: string }>(gateway.databaseUrl, earliest))[0]!.id));
});

test("a reseller has at most 10,000 open orders that set a value, and can still renew and delete", async (t) => {
  const stage = await startStage(t, ["full.example"]);
  const { gateway, reseller } = stage;
  await gateway.stopWorker();
  await runSql(gateway.databaseUrl, insertOrders, [reseller.id, 9_999, "1 day"]);
  await order(stage, "PUT", lockOf("full.example"), locked);
  const body = { name_servers: [] };
  const refused = await gateway.send(reseller, "PUT", "/domains/full.example/nameservers", { body });
  assertError(refused, "order_limit_reached");
  assert.ok(Number(refused.headers["retry-after"]) > 0);
  await order(stage, "DELETE", "/domains/full.example?confirm=full.example");
});
