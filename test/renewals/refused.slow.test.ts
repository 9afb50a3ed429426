/** Registries that refuse, report success and do nothing, or never answer: what is retried, and which alarms are raised. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { circuitSettingsDefault } from "#registry/epp/pool/circuit.ts";
import { runSql } from "../harness/sql.ts";
import { registrarId, until } from "../orders/judge.ts";
import { operated } from "../orders/operate.ts";
import {
  commands,
  executed,
  giveNames,
  portfolioEntry,
  renewalOf,
  type Stage,
  setWillRenew,
  startStage,
  untilRenewalIs,
  yearsLater,
} from "./stage.ts";

const dayMs = 24 * 60 * 60_000;

interface AlarmRow {
  count: number;
  resolved_at: Date | null;
}

/** All alarms about the subject, also resolved ones. */
const alarmsOf = ({ gateway }: Stage, kind: string, subject: string) =>
  runSql<AlarmRow>(
    gateway.databaseUrl,
    "SELECT count, resolved_at FROM alarms WHERE kind = $1 AND subject = $2 ORDER BY id",
    [kind, subject],
  );

const inDays = ({ gateway }: Stage, days: number) =>
  new Date(Math.floor(gateway.context.clock.now().getTime() / 1000) * 1000 + days * dayMs);

async function giveName(
  stage: Stage,
  name: string,
  days: number,
  more: { registryDays?: number; willRenew?: boolean },
) {
  const { registryDays = days, willRenew = true } = more;
  const dates = { expirationDate: inDays(stage, days), registryExDate: inDays(stage, registryDays), willRenew };
  await giveNames(stage.gateway, stage.reseller, new Map([[name, dates]]));
  return dates.expirationDate.toISOString();
}

function setDomain({ gateway }: Stage, name: string, changed: { statuses?: string[]; exDate?: string }): void {
  const { domains } = gateway.registry.store;
  domains.put({ ...domains.find(name)!, ...changed });
}

const untilInHistory = ({ gateway }: Stage, event: string, times: number) =>
  until(`${event} is in the history ${times} times`, async () => {
    const sql = "SELECT FROM order_history WHERE event = $1";
    return (await runSql(gateway.databaseUrl, sql, [event])).length >= times;
  });

const threeTriesFailed = ({ gateway }: Stage) =>
  until("three attempts have failed", async () => {
    return (await runSql(gateway.databaseUrl, "SELECT FROM orders WHERE backoff_count >= 3")).length === 1;
  });

test("a name that must not be renewed needs an operator and is sent nothing, and is renewed once it may be", async (t) => {
  const stage = await startStage(t);
  const name = "prohibited.example";
  const before = inDays(stage, 20);
  const held = stage.gateway.registry.hold({ command: "domain:info", name, at: "before-execution", times: 1 });
  await giveName(stage, name, 20, {});
  await held.reached(1);
  setDomain(stage, name, { statuses: ["serverRenewProhibited"] });
  held.release();
  await untilRenewalIs(stage.gateway, name, "Attention");
  assert.deepEqual(commands(stage.gateway, name, "domain:renew"), []);
  assert.match((await renewalOf(stage.gateway, name))?.reason ?? "", /serverRenewProhibited/);
  assert.deepEqual(await alarmsOf(stage, "renewal", name), [{ count: 1, resolved_at: null }]);
  setDomain(stage, name, { statuses: [] });
  await stage.travel(2 / 24);
  await untilRenewalIs(stage.gateway, name, "Renewed");
  assert.equal(executed(stage.gateway, name, "domain:renew"), 1);
  assert.equal(stage.gateway.registry.store.domains.find(name)?.exDate, yearsLater(before.toISOString(), 1));
  assert.notEqual((await alarmsOf(stage, "renewal", name))[0]?.resolved_at, null);
});

test("an order of the schedule that an operator cancels is placed again an hour later", async (t) => {
  const stage = await startStage(t);
  const { gateway, reseller } = stage;
  const name = "cancelled.example";
  const held = gateway.registry.hold({ command: "domain:info", name, at: "before-execution", times: 1 });
  await giveName(stage, name, 20, {});
  await held.reached(1);
  setDomain(stage, name, { statuses: ["serverRenewProhibited"] });
  held.release();
  await untilRenewalIs(gateway, name, "Attention");
  const first = (await renewalOf(gateway, name))!.order_code!;
  const inNeed = await operated<{ order_code: string }[]>(gateway, "orders", "list", "--attention");
  assert.deepEqual(
    inNeed.map(({ order_code }) => order_code),
    [first],
  );
  setDomain(stage, name, { statuses: [] });
  await operated(gateway, "orders", "cancel", first);
  assert.equal((await gateway.settled(reseller, `/orders/${first}`)).status, "Cancelled");
  await stage.travel(0.5 / 24);
  assert.equal((await renewalOf(gateway, name))?.order_code, first);
  await stage.travel(1 / 24);
  await untilRenewalIs(gateway, name, "Renewed");
  assert.notEqual((await renewalOf(gateway, name))?.order_code, first);
  assert.equal(executed(gateway, name, "domain:renew"), 1);
});

test("a renewal beyond the ten years that a registry allows needs an operator, with the registry's reason", async (t) => {
  const stage = await startStage(t, { registry: { renewalYears: 10 } });
  const before = await giveName(stage, "decade.example", 20, {});
  await untilRenewalIs(stage.gateway, "decade.example", "Attention");
  assert.match((await renewalOf(stage.gateway, "decade.example"))?.reason ?? "", /2105.*too far ahead/);
  const { expiration_date } = await portfolioEntry(stage.gateway, stage.reseller, "decade.example");
  assert.equal(expiration_date, before);
});

test("a renew that the registry reports as done but does not show is no renewal: after a day it raises an alarm", async (t) => {
  const stage = await startStage(t);
  const { gateway, reseller } = stage;
  const name = "said.example";
  const hold = gateway.registry.hold({ command: "domain:renew", name, at: "before-answer", times: 1 });
  const before = await giveName(stage, name, 20, {});
  await hold.reached(1);
  setDomain(stage, name, { exDate: before });
  hold.release();
  await untilInHistory(stage, "not-seen", 2);
  assert.equal((await portfolioEntry(gateway, reseller, name)).expiration_date, before);
  assert.equal(commands(gateway, name, "domain:renew").length, 1);
  await stage.travel(1.1);
  await untilRenewalIs(gateway, name, "Attention");
  setDomain(stage, name, { exDate: yearsLater(before, 1) });
  await stage.travel(2 / 24);
  await untilRenewalIs(gateway, name, "Renewed");
  assert.equal(commands(gateway, name, "domain:renew").length, 1);
  assert.equal((await portfolioEntry(gateway, reseller, name)).expiration_date, yearsLater(before, 1));
});

test("a renew that the registry denies repeatedly is retried with growing delays", async (t) => {
  const stage = await startStage(t, { registry: { renewalResultCodes: { 2305: "pending" }, reconcileIntervalMs: 10 } });
  await giveName(stage, "renew-code-2305-x.example", 20, {});
  await threeTriesFailed(stage);
  assert.match((await renewalOf(stage.gateway, "renew-code-2305-x.example"))?.reason ?? "", /not approve/);
});

test("a renew that is lost repeatedly is retried with growing delays", async (t) => {
  const circuit = { ...circuitSettingsDefault, faultsMax: 1_000 };
  const stage = await startStage(t, { registry: { circuit, settleMs: 10, transformTimeoutMs: 200 } });
  const { registry } = stage.gateway;
  registry.hold({ command: "domain:renew", name: "lost.example", at: "before-execution" });
  await giveName(stage, "lost.example", 20, {});
  await threeTriesFailed(stage);
});

test("a renew whose answer was lost, and which the registry left pending, is not sent again", async (t) => {
  const stage = await startStage(t, { registry: { reconcileIntervalMs: 50 } });
  const { gateway } = stage;
  const name = "renew-drop-before-pending.example";
  const hold = gateway.registry.hold({ command: "domain:renew", name, at: "before-execution", times: 1 });
  const before = await giveName(stage, name, 20, {});
  await hold.reached(1);
  setDomain(stage, name, { statuses: ["pendingRenew"] });
  hold.release();
  await untilRenewalIs(gateway, name, "Processing (pending)");
  setDomain(stage, name, { statuses: [], exDate: yearsLater(before, 1) });
  await untilRenewalIs(gateway, name, "Renewed");
  assert.equal(commands(gateway, name, "domain:renew").length, 1);
});

test("an unwanted name that cannot be deleted is one alarm until it is gone, however often it is retried", async (t) => {
  const stage = await startStage(t);
  const name = "undeletable.example";
  const held = stage.gateway.registry.hold({ command: "domain:info", name, at: "before-execution", times: 1 });
  await giveName(stage, name, -1, { registryDays: 364, willRenew: false });
  await held.reached(1);
  setDomain(stage, name, { statuses: ["serverDeleteProhibited"] });
  held.release();
  for (const tried of [1, 2, 3]) {
    await until(`it was tried ${tried} times`, async () => {
      const alarms = await alarmsOf(stage, "renewal", name);
      return alarms.length === 1 && alarms[0]?.count === tried && alarms[0].resolved_at === null;
    });
    await untilRenewalIs(stage.gateway, name, "Attention");
    if (tried === 3) setDomain(stage, name, { statuses: [] });
    await stage.travel(2 / 24);
  }
  await untilRenewalIs(stage.gateway, name, "Ended");
  assert.notEqual((await alarmsOf(stage, "renewal", name))[0]?.resolved_at, null);
});

test("a name that could not be deleted and is switched on again is kept, and not paid for again", async (t) => {
  const stage = await startStage(t);
  const name = "delete-code-2304-x.example";
  await giveName(stage, name, -1, { registryDays: 364, willRenew: false });
  await untilRenewalIs(stage.gateway, name, "Attention");
  assert.equal(await setWillRenew(stage, name, true), 204);
  await untilRenewalIs(stage.gateway, name, "Renewed");
  assert.deepEqual(commands(stage.gateway, name, "domain:renew"), []);
});

test("a name that a registry has renewed although it lets names expire is not deleted: an operator decides", async (t) => {
  const atExpiry = "expire" as const;
  const stage = await startStage(t, { registry: { atExpiry }, sandbox: { atExpiry } });
  await giveName(stage, "surprise.example", -1, { registryDays: 364, willRenew: false });
  await untilRenewalIs(stage.gateway, "surprise.example", "Attention");
  assert.deepEqual(commands(stage.gateway, "surprise.example", "domain:delete"), []);
});

test("an accepted delete does not end the alarm about credit", async (t) => {
  const stage = await startStage(t);
  await giveName(stage, "renew-code-2104-x.example", 20, {});
  await untilInHistory(stage, "out-of-credit", 1);
  await giveName(stage, "unwanted.example", -1, { registryDays: 364, willRenew: false });
  await untilRenewalIs(stage.gateway, "unwanted.example", "Ended");
  const alarms = await alarmsOf(stage, "renewal-credit", "sandbox");
  assert.deepEqual([alarms.length, alarms[0]?.resolved_at], [1, null]);
});

test("a denied delete of a name that has left the portfolio needs an operator", async (t) => {
  const stage = await startStage(t, { registry: { pollIntervalMs: 20 } });
  const { registry, databaseUrl } = stage.gateway;
  const name = "denied.example";
  await giveName(stage, name, -1, { registryDays: 364, willRenew: false });
  await untilRenewalIs(stage.gateway, name, "Ended");
  const [sent] = commands(stage.gateway, name, "domain:delete");
  const { svTRID, clTRID } = sent!;
  const about = { registrar: registrarId, queuedAt: inDays(stage, 0).toISOString(), name, svTRID, clTRID };
  registry.store.messages.put({ id: "denied", text: "no", approved: false, ...about });
  await until("it is acknowledged", () => registry.store.messages.find("denied") === undefined);
  const flagged = "SELECT message_id FROM poll_messages WHERE needs_operator";
  assert.deepEqual(await runSql(databaseUrl, flagged), [{ message_id: "denied" }]);
});

test("each registry has its own lead: a name is not renewed before that, and at once after it", async (t) => {
  const stage = await startStage(t, { registry: { renewalLeadDays: 5 } });
  await giveName(stage, "not-yet.example", 6, {});
  await giveName(stage, "now.example", 4, {});
  await untilRenewalIs(stage.gateway, "now.example", "Renewed");
  await untilRenewalIs(stage.gateway, "not-yet.example", "Scheduled");
  assert.deepEqual(commands(stage.gateway, "not-yet.example", "domain:renew"), []);
});
