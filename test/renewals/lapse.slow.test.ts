import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { runSql } from "../harness/sql.ts";
import { until } from "../orders/judge.ts";
import { operate } from "../orders/operate.ts";
import {
  commands,
  executed,
  own,
  portfolioEntry,
  renewalOf,
  type Stage,
  type StageOptions,
  setWillRenew,
  startStage,
  untilRenewalIs,
  yearsLater,
} from "./stage.ts";

/** More than a day: the second look is due. */
const secondLookDays = 1.01;

/** A name whose renewal is switched off, and the end of its term. */
async function startUnwanted(t: TestContext, name: string, options: StageOptions = {}) {
  const stage = await startStage(t, options);
  await own(stage, name);
  assert.equal(await setWillRenew(stage, name, false), 204);
  const { expiration_date } = await portfolioEntry(stage.gateway, stage.reseller, name);
  return { stage, gateway: stage.gateway, before: expiration_date };
}

/** The first look has shown that the name is gone. */
const untilSeemsGone = ({ gateway }: Stage, name: string) =>
  until("it seems gone", async () => {
    const noted = "SELECT FROM domains WHERE domain_name = $1 AND gone_since IS NOT NULL";
    return (await runSql(gateway.databaseUrl, noted, [name])).length === 1;
  });

async function assertLeft({ gateway, reseller }: Stage, name: string): Promise<void> {
  await untilRenewalIs(gateway, name, "Ended");
  assert.equal((await gateway.send(reseller, "GET", `/domains/${name}`)).status, 404);
  const list = await gateway.send(reseller, "GET", "/domains");
  assert.equal(list.headers["x-paging-totalresults"], "0");
  const kept = "SELECT domain_name FROM domains_ended";
  assert.deepEqual(await runSql(gateway.databaseUrl, kept), [{ domain_name: name }]);
  const history = await runSql(gateway.databaseUrl, "SELECT event FROM domain_history ORDER BY id");
  assert.equal(history.at(-1)?.event, "ended");
}

/** Asserts that it was deleted once, within the grace period of the automatic renewal. */
function assertDeletedInGrace({ gateway }: Stage, name: string, before: string): void {
  assert.equal(executed(gateway, name, "domain:delete"), 1, "deletes executed");
  assert.deepEqual(commands(gateway, name, "domain:renew"), []);
  const held = gateway.registry.store.domains.find(name);
  // In redemption, and the year of the automatic renewal is refunded.
  assert.equal(held?.exDate, before);
  assert.equal(held?.deletion?.stage, "redemptionPeriod");
}

test("a name that is switched off is deleted when the registry has renewed it, and leaves the portfolio", async (t) => {
  const name = "unwanted.example";
  const { stage, gateway, before } = await startUnwanted(t, name);
  await stage.travelTo(name, 29);
  await untilRenewalIs(gateway, name, "Lapsing (wait)");
  await stage.travelTo(name, 1);
  assert.deepEqual(commands(gateway, name, "domain:delete"), []);
  await stage.travel(1.01);
  await assertLeft(stage, name);
  assertDeletedInGrace(stage, name, before);
  const [departure] = (await gateway.send(stage.reseller, "GET", "/domains/departures")).body as Record<
    string,
    string
  >[];
  assert.equal(departure?.reason, "deleted");
  const { until: redeemableUntil } = gateway.registry.store.domains.find(name)!.deletion!;
  const differenceMs = Date.parse(departure?.restorable_until ?? "") - Date.parse(redeemableUntil);
  assert.ok(Math.abs(differenceMs) < 60 * 60_000, `${differenceMs} ms off`);
});

test("the delete at the end of a term is an order, and deletes the hosts below the name first", async (t) => {
  const name = "with-hosts.example";
  const { stage, gateway } = await startUnwanted(t, name);
  const { hosts } = gateway.registry.store;
  const host = `ns1.${name}`;
  const name_servers = [{ name: host, addresses: ["9.9.9.9"] }];
  const set = await gateway.send(stage.reseller, "PUT", `/domains/${name}/nameservers`, { body: { name_servers } });
  assert.equal((await gateway.settled(stage.reseller, set.headers.location ?? "")).status, "Finished");
  assert.ok(hosts.find(host));
  await stage.travelTo(name, -1);
  await untilRenewalIs(gateway, name, "Ended");
  assert.equal(hosts.find(host), undefined);
  const { body } = await gateway.send(stage.reseller, "GET", `/orders?domain_name=${name}&kind=delete`);
  const [order, ...others] = body as { order_code: string; status: string; next: string }[];
  assert.match(order?.order_code ?? "", /^CHG-/);
  assert.equal(order?.status, "Finished");
  assert.match(order?.next ?? "", /can be restored until/);
  assert.deepEqual(others, []);
  const told = await gateway.send(stage.reseller, "GET", `/domains/${name}/history`);
  assert.match(told.text, new RegExp(String(order?.order_code)));
  const { stdout } = await operate(gateway, "orders", "list");
  assert.match(stdout, new RegExp(String(order?.order_code)));
});

for (const [label, sent] of [
  ["delete-drop-after-", 1],
  ["delete-drop-before-", 2],
  ["delete-late-", 1],
  ["delete-once-2400-", 2],
  ["delete-once-2502-", 2],
] as const) {
  test(`a delete is executed once, whatever happens to its answer (${label})`, async (t) => {
    const name = `${label}x.example`;
    const { stage, gateway, before } = await startUnwanted(t, name);
    await stage.travelTo(name, -1);
    await assertLeft(stage, name);
    assertDeletedInGrace(stage, name, before);
    assert.equal(commands(gateway, name, "domain:delete").length, sent, "deletes sent");
  });
}

test("nothing is sent for a name that its registry lets expire, and it leaves once the registry no longer holds it", async (t) => {
  const name = "expiring.example";
  const atExpiry = "expire" as const;
  const { stage, gateway } = await startUnwanted(t, name, { registry: { atExpiry }, sandbox: { atExpiry } });
  await stage.travelTo(name, -10);
  await untilRenewalIs(gateway, name, "Lapsing (wait)");
  const looks = () => gateway.registry.store.journal.entries({ name, command: "domain:info" }).length;
  await until("the registry was asked", () => looks() > 0);
  assert.equal((await portfolioEntry(gateway, stage.reseller, name)).will_renew, false);
  await stage.travel(30);
  await untilSeemsGone(stage, name);
  await stage.travel(secondLookDays);
  await assertLeft(stage, name);
  assert.deepEqual([...commands(gateway, name, "domain:delete"), ...commands(gateway, name, "domain:renew")], []);
});

test("a name that is switched on again before its term is over is renewed as usual", async (t) => {
  const name = "late.example";
  const { stage, gateway, before } = await startUnwanted(t, name);
  await stage.travelTo(name, 10);
  await untilRenewalIs(gateway, name, "Lapsing (wait)");
  assert.equal(await setWillRenew(stage, name, true), 204);
  await untilRenewalIs(gateway, name, "Renewed");
  assert.equal(executed(gateway, name, "domain:renew"), 1);
  assert.equal(gateway.registry.store.domains.find(name)?.exDate, yearsLater(before, 1));
});

test("a name that is switched on again after the registry has renewed it is kept, and not renewed a second time", async (t) => {
  const name = "later.example";
  const { stage, gateway, before } = await startUnwanted(t, name);
  await stage.travelTo(name, 10);
  await untilRenewalIs(gateway, name, "Lapsing (wait)");
  // The registry is unreachable when it renews, so nothing has been sent when the name is switched on again.
  gateway.registry.pause();
  await stage.travelTo(name, -2);
  assert.equal(await setWillRenew(stage, name, true), 204);
  gateway.registry.resume();
  await untilRenewalIs(gateway, name, "Renewed");
  assert.equal((await portfolioEntry(gateway, stage.reseller, name)).expiration_date, yearsLater(before, 1));
  assert.equal(gateway.registry.store.domains.find(name)?.exDate, yearsLater(before, 1));
  assert.deepEqual([...commands(gateway, name, "domain:delete"), ...commands(gateway, name, "domain:renew")], []);
});

test("a name that is switched while the registry is being asked is handled at once", async (t) => {
  const name = "asked.example";
  const atExpiry = "expire" as const;
  const { stage, gateway } = await startUnwanted(t, name, { registry: { atExpiry }, sandbox: { atExpiry } });
  await stage.travelTo(name, 10);
  await untilRenewalIs(gateway, name, "Lapsing (wait)");
  const hold = gateway.registry.hold({ command: "domain:info", name, at: "before-answer", times: 1 });
  await stage.travelTo(name, -1);
  await hold.reached(1);
  assert.equal(await setWillRenew(stage, name, true), 204);
  hold.release();
  // The name is in redemption, which needs an operator now and not tomorrow.
  await untilRenewalIs(gateway, name, "Attention");
});

test("a delete that comes too late for a refund is not sent: an operator decides", async (t) => {
  const name = "grace.example";
  const { stage, gateway } = await startUnwanted(t, name);
  await stage.travelTo(name, 10);
  await untilRenewalIs(gateway, name, "Lapsing (wait)");
  await gateway.stopWorker();
  await stage.travelTo(name, -46);
  await gateway.startWorker();
  await untilRenewalIs(gateway, name, "Attention");
  assert.match((await renewalOf(gateway, name))?.reason ?? "", /is over/);
  assert.deepEqual(commands(gateway, name, "domain:delete"), []);
});

test("a delete that the registry refuses needs an operator, and the name stays in the portfolio", async (t) => {
  const name = "delete-code-2305-x.example";
  const { stage, gateway } = await startUnwanted(t, name);
  await stage.travelTo(name, -1);
  await untilRenewalIs(gateway, name, "Attention");
  await portfolioEntry(gateway, stage.reseller, name);
  const alarms = "SELECT kind, subject FROM alarms WHERE resolved_at IS NULL AND kind = 'renewal'";
  assert.deepEqual(await runSql(gateway.databaseUrl, alarms), [{ kind: "renewal", subject: name }]);
});

test("a name that is gone from the registry leaves the portfolio as soon as if it were to be renewed", async (t) => {
  const name = "gone.example";
  const { stage, gateway } = await startUnwanted(t, name);
  gateway.registry.store.domains.delete(name);
  await stage.travelTo(name, -1);
  await untilSeemsGone(stage, name);
  await stage.travel(secondLookDays);
  await assertLeft(stage, name);
});

test("a name that is switched on again while the registry says that it is gone stays until the second look", async (t) => {
  const name = "switched.example";
  const { stage, gateway } = await startUnwanted(t, name);
  await stage.travelTo(name, 29);
  await untilRenewalIs(gateway, name, "Lapsing (wait)");
  gateway.registry.store.domains.delete(name);
  const hold = gateway.registry.hold({ command: "domain:info", name, at: "before-answer" });
  await stage.travelTo(name, -1);
  await hold.reached(1);
  assert.equal(await setWillRenew(stage, name, true), 204);
  hold.release();
  await untilRenewalIs(gateway, name, "Processing (renew)");
  await untilSeemsGone(stage, name);
  assert.equal((await portfolioEntry(gateway, stage.reseller, name)).will_renew, true);
  await stage.travel(secondLookDays);
  await assertLeft(stage, name);
});

test("a name that has left can be registered again, and then has its own renewal", async (t) => {
  const name = "again.example";
  const sandbox = { graceDays: { add: 0, renew: 0, autoRenew: 45, redemption: 0, pendingDelete: 0 } };
  const { stage, gateway } = await startUnwanted(t, name, { sandbox });
  await stage.travelTo(name, -1);
  await assertLeft(stage, name);
  await own(stage, name);
  await stage.travelTo(name, 40);
  await untilRenewalIs(gateway, name, "Scheduled");
  assert.equal((await portfolioEntry(gateway, stage.reseller, name)).will_renew, true);
});
