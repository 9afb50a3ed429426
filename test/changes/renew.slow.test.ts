import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Settings } from "../../sandbox/registry/settings.ts";
import type { Scope } from "../harness/database.ts";
import { runSql } from "../harness/sql.ts";
import { until } from "../orders/judge.ts";
import { operate } from "../orders/operate.ts";
import { own, renewalOf, type Stage, startStage, untilRenewalIs, yearsLater } from "../renewals/stage.ts";
import { change, domain, order, received, replaceWorkerDuring } from "./stage.ts";

const name = "by-hand.example";

async function startWith(scope: Scope, names: readonly string[] = [name], sandbox: Partial<Settings> = {}) {
  const stage = await startStage(scope, { sandbox });
  await own(stage, ...names);
  return stage;
}

const renewals = (of: string) => `/domains/${of}/renewals`;

async function expirationOf(stage: Stage, of: string): Promise<string> {
  return String((await domain(stage, of)).expiration_date);
}

const send = ({ gateway, reseller }: Stage, of: string, body: object) =>
  gateway.send(reseller, "POST", renewals(of), { body });

/** The registry has executed one renew, to this many years after `before`, and the portfolio shows it. */
async function assertRenewed(stage: Stage, of: string, before: string, years: number): Promise<void> {
  const wanted = yearsLater(before, years);
  const executed = received(stage, of, "domain:renew").filter((entry) => entry.executed);
  assert.equal(executed.length, 1, `${of}: renews executed`);
  assert.equal(stage.gateway.registry.store.domains.find(of)?.exDate, wanted, of);
  assert.equal(await expirationOf(stage, of), wanted, of);
}

test("a name is renewed for the years that were ordered, from the term that the order names", async (t) => {
  const stage = await startWith(t);
  const before = await expirationOf(stage, name);
  const ended = await change(stage, "POST", renewals(name), { years: 2, expiration_date: before });
  assert.equal(ended.kind, "renew");
  assert.equal(ended.status, "Finished");
  assert.match(String(ended.order_code), /^REN-/);
  await assertRenewed(stage, name, before, 2);
});

test("the same renewal ordered again after it was carried out buys no second term", async (t) => {
  const stage = await startWith(t);
  const before = await expirationOf(stage, name);
  await change(stage, "POST", renewals(name), { years: 1, expiration_date: before.slice(0, 10) });
  for (const expiration_date of [before, before.slice(0, 10)]) {
    const again = await send(stage, name, { years: 1, expiration_date });
    assert.equal(again.status, 409);
    assert.match(again.text, /domain_expiration_changed.*2\d{3}-/);
  }
  await assertRenewed(stage, name, before, 1);
});

test("while a renewal is in progress, the same years get its 202, and other years a 409", async (t) => {
  const stage = await startWith(t);
  const before = await expirationOf(stage, name);
  const hold = stage.gateway.registry.hold({ command: "domain:renew", name, at: "before-execution" });
  const location = await order(stage, "POST", renewals(name), { years: 1, expiration_date: before });
  await hold.reached(1);
  assert.equal(await order(stage, "POST", renewals(name), { years: 1, expiration_date: before }), location);
  const other = await send(stage, name, { years: 2, expiration_date: before });
  assert.equal(other.status, 409);
  assert.match(other.text, /domain_renewal_underway/);
  assert.ok(Number(other.headers["retry-after"]) > 0);
  hold.release();
  assert.equal((await stage.gateway.settled(stage.reseller, location)).status, "Finished");
  await assertRenewed(stage, name, before, 1);
});

test("ten years from now is the longest that can be ordered, and the registry is not asked", async (t) => {
  const stage = await startWith(t);
  const expiration_date = await expirationOf(stage, name);
  for (const years of [10, 11, 0, 1.5, "1"]) {
    const reply = await send(stage, name, { years, expiration_date });
    assert.equal(reply.status, 400, String(years));
    assert.match(reply.text, /"field":"years"/, String(years));
  }
  assert.equal((await change(stage, "POST", renewals(name), { years: 9, expiration_date })).status, "Finished");
  await assertRenewed(stage, name, expiration_date, 9);
});

describe("a renewal by hand whose answer is lost is executed once", async () => {
  for (const label of ["renew-drop-before-", "renew-drop-after-", "renew-garbage-", "renew-late-"]) {
    test(label, async (t) => {
      const lost = `${label}b.example`;
      const stage = await startWith(t, [lost]);
      const before = await expirationOf(stage, lost);
      const ended = await change(stage, "POST", renewals(lost), { years: 3, expiration_date: before });
      assert.equal(ended.status, "Finished", String(ended.error_text));
      await assertRenewed(stage, lost, before, 3);
    });
  }
});

test("a renewal by hand survives its worker, whether the registry executes the command or not", async (t) => {
  const names = ["killed-executed.example", "killed-lost.example"];
  const stage = await startWith(t, names);
  const { gateway, reseller } = stage;
  for (const killed of names) {
    const before = await expirationOf(stage, killed);
    const hold = gateway.registry.hold({ command: "domain:renew", name: killed, at: "before-execution", times: 1 });
    const location = await order(stage, "POST", renewals(killed), { years: 2, expiration_date: before });
    await replaceWorkerDuring(hold, { gateway, execute: killed === names[0] });
    assert.equal((await gateway.settled(reseller, location)).status, "Finished", killed);
    await assertRenewed(stage, killed, before, 2);
  }
});

test("a renewal by hand takes the place of the scheduled one, which ends as renewed", async (t) => {
  const stage = await startWith(t);
  const { gateway } = stage;
  const before = await expirationOf(stage, name);
  await stage.travelTo(name, 31);
  await untilRenewalIs(gateway, name, "Scheduled");
  await change(stage, "POST", renewals(name), { years: 1, expiration_date: before });
  assert.equal((await renewalOf(gateway, name))?.status, "Renewed");
  await stage.travel(3);
  await assertRenewed(stage, name, before, 1);
  const open = "SELECT FROM renewals WHERE ended_at IS NULL";
  assert.deepEqual(await runSql(gateway.databaseUrl, open), [], "nothing is due for the new term");
});

test("a name that is switched off can be renewed by hand at the end of its term, and stays", async (t) => {
  const stage = await startWith(t);
  const { gateway, reseller } = stage;
  const before = await expirationOf(stage, name);
  await gateway.send(reseller, "PUT", `/domains/${name}/renew`, { body: { will_renew: false } });
  await stage.travelTo(name, 10);
  await untilRenewalIs(gateway, name, "Lapsing (wait)");
  await change(stage, "POST", renewals(name), { years: 1, expiration_date: before });
  await stage.travel(20);
  await assertRenewed(stage, name, before, 1);
  assert.deepEqual(received(stage, name, "domain:delete"), []);
});

test("a schedule that fires while a renewal by hand is live sends nothing", async (t) => {
  const stage = await startWith(t);
  const { gateway, reseller } = stage;
  const before = await expirationOf(stage, name);
  await stage.travelTo(name, 31);
  await untilRenewalIs(gateway, name, "Scheduled");
  const hold = gateway.registry.hold({ command: "domain:renew", name, at: "before-answer" });
  const location = await order(stage, "POST", renewals(name), { years: 2, expiration_date: before });
  await hold.reached(1);
  await stage.travel(2);
  await until("the schedule waits", async () => {
    const waiting =
      "SELECT FROM renewals WHERE status = 'Scheduled' AND next_step_at > $1::timestamptz + interval '30 s'";
    return (await runSql(gateway.databaseUrl, waiting, [stage.clock.now()])).length === 1;
  });
  hold.release();
  assert.equal((await gateway.settled(reseller, location)).status, "Finished");
  assert.equal((await renewalOf(gateway, name))?.status, "Renewed");
  assert.deepEqual(
    await runSql(gateway.databaseUrl, "SELECT note FROM alarms WHERE resolved_at IS NULL"),
    [],
    "nobody takes it for two terms",
  );
  await stage.travel(1);
  await assertRenewed(stage, name, before, 2);
});

test("a name is renewed once by a schedule and an order at the same time, even if the worker dies between", async (t) => {
  const names = ["both-executed.example", "both-lost.example"];
  const stage = await startWith(t, names);
  const { gateway, reseller } = stage;
  const befores = new Map<string, string>();
  for (const used of names) befores.set(used, await expirationOf(stage, used));
  await stage.travelTo(names[1]!, 31);
  const locations = new Map<string, string>();
  const holds = names.map((used) =>
    gateway.registry.hold({ command: "domain:renew", name: used, at: "before-execution", times: 1 }),
  );
  for (const used of names) {
    await untilRenewalIs(gateway, used, "Scheduled");
    locations.set(used, await order(stage, "POST", renewals(used), { years: 1, expiration_date: befores.get(used) }));
  }
  for (const hold of holds) await hold.reached(1);
  await gateway.stopWorker();
  for (const hold of holds) await hold.abandoned(1);
  for (const [index, hold] of holds.entries()) hold.release({ execute: index === 0 });
  // Now the schedule is due, too, and what was sent is not known to anybody.
  await stage.travel(2);
  await gateway.startWorker();
  for (const used of names) {
    assert.equal((await gateway.settled(reseller, locations.get(used)!)).status, "Finished", used);
    await assertRenewed(stage, used, befores.get(used)!, 1);
    assert.equal((await renewalOf(gateway, used))?.status, "Renewed", used);
  }
  await stage.travel(3);
  for (const used of names) await assertRenewed(stage, used, befores.get(used)!, 1);
});

test("an order that meets a scheduled renewal in progress is that renewal, or refused", async (t) => {
  const stage = await startWith(t);
  const { gateway, reseller } = stage;
  const before = await expirationOf(stage, name);
  const hold = gateway.registry.hold({ command: "domain:renew", name, at: "before-execution" });
  await stage.travelTo(name, 30);
  await hold.reached(1);
  const { renewal_code: code } = (await renewalOf(gateway, name))!;
  const location = await order(stage, "POST", renewals(name), { years: 1, expiration_date: before });
  assert.equal(location, `/orders/${code}`);
  assert.match((await send(stage, name, { years: 2, expiration_date: before })).text, /domain_renewal_underway/);
  hold.release();
  assert.equal((await gateway.settled(reseller, location)).status, "Finished");
  await assertRenewed(stage, name, before, 1);
});

test("a renewal by hand takes the place of a scheduled one that needs an operator and has sent nothing", async (t) => {
  const stage = await startWith(t);
  const { gateway, reseller } = stage;
  const { domains } = gateway.registry.store;
  const before = await expirationOf(stage, name);
  domains.put({ ...domains.find(name)!, statuses: ["serverRenewProhibited"] });
  await stage.travelTo(name, 29);
  await untilRenewalIs(gateway, name, "Attention");
  const { order_code: scheduled } = (await renewalOf(gateway, name))!;
  domains.put({ ...domains.find(name)!, statuses: [] });
  const ended = await change(stage, "POST", renewals(name), { years: 2, expiration_date: before });
  assert.equal(ended.status, "Finished");
  assert.notEqual(ended.order_code, scheduled);
  assert.equal((await gateway.settled(reseller, `/orders/${scheduled}`)).status, "Cancelled");
  assert.equal((await renewalOf(gateway, name))?.status, "Renewed");
  await assertRenewed(stage, name, before, 2);
});

test("what the registry has renewed by itself counts: only the other years are sent", async (t) => {
  const stage = await startWith(t);
  const { gateway, reseller } = stage;
  const before = await expirationOf(stage, name);
  await gateway.send(reseller, "PUT", `/domains/${name}/renew`, { body: { will_renew: false } });
  const hold = gateway.registry.hold({ command: "domain:info", name, at: "before-execution" });
  const location = await order(stage, "POST", renewals(name), { years: 3, expiration_date: before });
  await hold.reached(1);
  // It renews the name when its term ends.
  await stage.travel(370);
  hold.release();
  assert.equal((await gateway.settled(reseller, location)).status, "Finished");
  const [sent] = received(stage, name, "domain:renew");
  assert.match(sent?.xml ?? "", /<[^>]*period unit="y">2</);
  await assertRenewed(stage, name, before, 3);
});

test("a name whose expiry has moved by less than was ordered waits for an operator, and nothing more is sent", async (t) => {
  const lost = "renew-drop-before-c.example";
  const stage = await startWith(t, [lost]);
  const { gateway } = stage;
  const before = await expirationOf(stage, lost);
  const location = await order(stage, "POST", renewals(lost), { years: 3, expiration_date: before });
  await until("the renew was sent", () => received(stage, lost, "domain:renew").length === 1);
  // Somebody renews it for a year, as after a telephone call.
  const { domains } = gateway.registry.store;
  domains.put({ ...domains.find(lost)!, exDate: yearsLater(before, 1) });
  const alarms = "SELECT note FROM alarms WHERE kind = 'order' AND resolved_at IS NULL";
  await until("an operator is called", async () => (await runSql(gateway.databaseUrl, alarms)).length === 1);
  assert.match((await runSql<{ note: string }>(gateway.databaseUrl, alarms))[0]!.note, /3 years from/);
  assert.equal(received(stage, lost, "domain:renew").length, 1);
  const { body } = await gateway.send(stage.reseller, "GET", location);
  const { status, order_code: code } = body as { status: string; order_code: string };
  assert.equal(status, "Processing");
  const settled = await operate(
    gateway,
    "orders",
    "settle",
    code,
    "--as",
    "done",
    "--note",
    "the registry says one year",
  );
  assert.equal(settled.code, 0, settled.stderr);
  assert.equal((await gateway.settled(stage.reseller, location)).status, "Finished");
  assert.equal(await expirationOf(stage, lost), yearsLater(before, 1));
  assert.deepEqual(await runSql(gateway.databaseUrl, alarms), []);
});

test("without credit a renewal by hand waits for an operator, other renewals and creates go on", async (t) => {
  const broke = "renew-once-2104-a.example";
  const stage = await startWith(t, [broke]);
  const { gateway, reseller, clock } = stage;
  const before = await expirationOf(stage, broke);
  const location = await order(stage, "POST", renewals(broke), { years: 1, expiration_date: before });
  const alarms = "SELECT note FROM alarms WHERE kind = 'order' AND resolved_at IS NULL";
  await until("an operator is called", async () => (await runSql(gateway.databaseUrl, alarms)).length === 1);
  const paused = "SELECT FROM registries WHERE creates_paused_reason IS NOT NULL";
  assert.deepEqual(await runSql(gateway.databaseUrl, paused), []);
  clock.skip(1);
  assert.equal((await gateway.settled(reseller, location)).status, "Finished");
  assert.deepEqual(await runSql(gateway.databaseUrl, alarms), [], "the alarm is resolved");
  await assertRenewed(stage, broke, before, 1);
});

test("a renewal gives its years as the registry takes them, and none where it has one period", async (t) => {
  for (const [period, years, end, inFrame] of [
    ["months", 2, "Finished", /period unit="m">24</],
    ["none", 1, "Finished", /^(?!.*period)/],
    ["none", 2, "FailedValidation", /^$/],
  ] as const) {
    const stage = await startStage(t, { sandbox: { period }, registry: { period } });
    await own(stage, name);
    const expiration_date = await expirationOf(stage, name);
    const ended = await change(stage, "POST", renewals(name), { years, expiration_date });
    assert.equal(ended.status, end, `${years} years, ${period}`);
    assert.match(received(stage, name, "domain:renew")[0]?.xml ?? "", inFrame);
  }
});
