import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { setMaintenance } from "#domains/registry/pause.ts";
import { circuitSettingsDefault } from "#registry/epp/pool/circuit.ts";
import { runSql } from "../harness/sql.ts";
import { registrarId, until } from "../orders/judge.ts";
import {
  assertRenewedOnce,
  commands,
  executed,
  own,
  portfolioEntry,
  renewalOf,
  startStage,
  untilRenewalIs,
  yearsLater,
} from "./stage.ts";

test("a name is renewed once, thirty days before its term is over, and again a year later", async (t) => {
  const stage = await startStage(t);
  const { gateway, reseller } = stage;
  const name = "once.example";
  await own(stage, name);
  const { expiration_date: before } = await portfolioEntry(gateway, reseller, name);
  await stage.travelTo(name, 31);
  await untilRenewalIs(gateway, name, "Scheduled");
  assert.deepEqual(commands(gateway, name, "domain:renew"), []);
  await stage.travel(1);
  await assertRenewedOnce(stage, name, before);
  const { renewal_code: firstCode } = (await renewalOf(gateway, name))!;
  assert.equal(commands(gateway, name, "domain:renew")[0]?.clTRID, `${firstCode}-1`);
  await stage.travelTo(name, 29);
  await until("it is renewed again", () => executed(gateway, name, "domain:renew") === 2);
  await untilRenewalIs(gateway, name, "Renewed");
  assert.notEqual((await renewalOf(gateway, name))?.renewal_code, firstCode);
});

/** What the registry does to each name's renew, and how many renews are sent until one is executed. */
const troubles: [trouble: string, label: string, sent: number][] = [
  ["whose first renew was executed and lost its answer", "renew-drop-after-", 1],
  ["whose first renew was lost before it was executed", "renew-drop-before-", 2],
  ["whose answer comes after we have stopped waiting", "renew-late-", 1],
  ["whose answer is garbage", "renew-garbage-", 1],
  ["whose answer is half an answer", "renew-short-", 1],
  ["whose answer is somebody else's", "renew-trid-", 1],
  ["whose registry was busy", "renew-once-2400-", 2],
  ["whose session was over", "renew-once-2502-", 2],
  ["whose registrar's credit was used up, until it was topped up", "renew-once-2104-", 2],
  ["whose curExpDate the registry disputes once with 2004", "renew-once-2004-", 2],
  ["whose curExpDate the registry disputes once with 2105", "renew-once-2105-", 2],
  ["whose curExpDate the registry disputes once with 2306", "renew-once-2306-", 2],
  ["whose renew is refused by a code that nobody knows", "renew-once-2301-", 2],
];

describe("each name is renewed exactly once", async () => {
  // This many lost answers in so short a time would open the circuit.
  const circuit = { ...circuitSettingsDefault, faultsMax: 1_000 };
  const stage = await startStage({ after }, { registry: { circuit } });
  const { gateway, reseller } = stage;
  const nameOf = (label: string) => `${label}x.example`;
  const names = troubles.map(([, label]) => nameOf(label));
  await own(stage, ...names);
  const before = await Promise.all(names.map((name) => portfolioEntry(gateway, reseller, name)));
  await stage.travelTo(names.at(-1)!, 30);
  for (const [index, [trouble, label, sent]] of troubles.entries()) {
    test(`one ${trouble}`, async () => {
      const name = nameOf(label);
      await assertRenewedOnce(stage, name, before[index]!.expiration_date);
      assert.equal(commands(gateway, name, "domain:renew").length, sent, "renews sent");
    });
  }
});

test("a renew that was executed although it was refused is noticed and not repeated", async (t) => {
  const stage = await startStage(t);
  const { gateway, reseller } = stage;
  const name = "renew-code-2304-x.example";
  await own(stage, name);
  const { expiration_date: before } = await portfolioEntry(gateway, reseller, name);
  await stage.travelTo(name, 30);
  await until("it was refused", () => commands(gateway, name, "domain:renew").length > 0);
  const domain = gateway.registry.store.domains.find(name)!;
  const exDate = yearsLater(before, 1);
  gateway.registry.store.domains.put({ ...domain, exDate: exDate });
  await untilRenewalIs(gateway, name, "Renewed");
  assert.equal((await portfolioEntry(gateway, reseller, name)).expiration_date, exDate);
});

test("a renew that the registry undoes after a lost connection is sent again", async (t) => {
  const stage = await startStage(t);
  const { gateway, reseller } = stage;
  const name = "renew-drop-after-undone.example";
  await own(stage, name);
  const { expiration_date: before } = await portfolioEntry(gateway, reseller, name);
  const holdLook = () => gateway.registry.hold({ command: "domain:info", name, at: "before-execution" });
  let look = holdLook();
  await stage.travelTo(name, 30);
  const seen = "SELECT FROM order_history WHERE event = 'seen-once'";
  while ((await runSql(gateway.databaseUrl, seen)).length === 0) {
    if (look.waiting() === 0) continue;
    const next = holdLook();
    look.release();
    look = next;
  }
  // Before the second look is answered.
  const { domains } = gateway.registry.store;
  domains.put({ ...domains.find(name)!, exDate: before });
  look.release();
  await untilRenewalIs(gateway, name, "Renewed");
  assert.equal(domains.find(name)?.exDate, yearsLater(before, 1));
  assert.equal((await portfolioEntry(gateway, reseller, name)).expiration_date, yearsLater(before, 1));
});

test("a renew that the registry executes after another one is refused because of its date", async (t) => {
  const stage = await startStage(t);
  const { gateway, reseller } = stage;
  const name = "overtaken.example";
  await own(stage, name);
  const { expiration_date: before } = await portfolioEntry(gateway, reseller, name);
  const hold = gateway.registry.hold({ command: "domain:renew", name, at: "before-execution", times: 1 });
  await stage.travelTo(name, 30);
  await hold.abandoned(1);
  await assertRenewedOnce(stage, name, before);
  hold.release({ execute: true });
  await until("the first one was answered too", () => commands(gateway, name, "domain:renew").length === 2);
  await assertRenewedOnce(stage, name, before);
});

test("a registry that moves the expiry by two periods raises an alarm, and the reseller gets one period", async (t) => {
  const stage = await startStage(t);
  const { gateway, reseller } = stage;
  const name = "renew-drop-after-twice.example";
  await own(stage, name);
  const { expiration_date: before } = await portfolioEntry(gateway, reseller, name);
  const hold = gateway.registry.hold({ command: "domain:renew", name, at: "before-answer" });
  await stage.travelTo(name, 30);
  await hold.reached(1);
  const { domains } = gateway.registry.store;
  domains.put({ ...domains.find(name)!, exDate: yearsLater(before, 2) });
  hold.release();
  await untilRenewalIs(gateway, name, "Renewed");
  assert.equal((await portfolioEntry(gateway, reseller, name)).expiration_date, yearsLater(before, 1));
  const alarms = "SELECT subject FROM alarms WHERE kind = 'renewal-dates' AND resolved_at IS NULL";
  assert.deepEqual(await runSql(gateway.databaseUrl, alarms), [{ subject: name }]);
  // The second period is not ordered again.
  await stage.travelTo(name, 30);
  await until("the second term is over", async () => {
    return (await portfolioEntry(gateway, reseller, name)).expiration_date === yearsLater(before, 2);
  });
  assert.equal(executed(gateway, name, "domain:renew"), 1);
});

test("a renew that the registry leaves pending is done when its message says so", async (t) => {
  const renewalResultCodes = { 2305: "pending" };
  const stage = await startStage(t, {
    registry: { renewalResultCodes, reconcileIntervalMs: 3_600_000, pollIntervalMs: 20 },
  });
  const { gateway, reseller } = stage;
  const name = "renew-once-2305-x.example";
  await own(stage, name);
  const { domains } = gateway.registry.store;
  const { expiration_date: before } = await portfolioEntry(gateway, reseller, name);
  const hold = gateway.registry.hold({ command: "domain:renew", name, at: "before-answer" });
  await stage.travelTo(name, 30);
  await hold.reached(1);
  domains.put({ ...domains.find(name)!, statuses: ["pendingRenew"] });
  hold.release();
  await untilRenewalIs(gateway, name, "Processing (pending)");
  const exDate = yearsLater(before, 1);
  domains.put({ ...domains.find(name)!, statuses: [], exDate: exDate });
  // Only the message makes it look within the hour.
  const [renew] = commands(gateway, name, "domain:renew");
  const { svTRID, clTRID } = renew!;
  const about = { registrar: registrarId, queuedAt: before, name, svTRID, clTRID };
  gateway.registry.store.messages.put({ id: "renewed-1", text: "Renewed", approved: true, ...about });
  await untilRenewalIs(gateway, name, "Renewed");
  const flagged = "SELECT message_id FROM poll_messages WHERE needs_operator";
  assert.deepEqual(await runSql(gateway.databaseUrl, flagged), []);
  assert.equal(commands(gateway, name, "domain:renew").length, 1);
});

test("a message about an earlier renew does not cut the wait for the answer to a later one", async (t) => {
  const stage = await startStage(t, { registry: { settleMs: 3_600_000, pollIntervalMs: 20 } });
  const { registry, databaseUrl } = stage.gateway;
  const name = "followed.example";
  await own(stage, name);
  const hold = registry.hold({ command: "domain:renew", name, at: "before-execution" });
  await stage.travelTo(name, 30);
  for (const sent of [1, 2]) {
    await hold.reached(sent);
    registry.closeSessions();
    await hold.abandoned(sent);
    await untilRenewalIs(stage.gateway, name, "Processing (verify)");
    if (sent === 1) await stage.travel(0.1);
  }
  const next = "SELECT next_step_at::text FROM orders WHERE kind = 'renew'";
  const before = await runSql(databaseUrl, next);
  const { renewal_code } = (await renewalOf(stage.gateway, name))!;
  const about = { registrar: registrarId, queuedAt: "2030-01-01T00:00:00.000Z", name, svTRID: "SBX-0" };
  registry.store.messages.put({ id: "late", text: "no", approved: false, clTRID: `${renewal_code}-1`, ...about });
  await until("it is acknowledged", () => registry.store.messages.find("late") === undefined);
  assert.deepEqual(await runSql(databaseUrl, next), before);
  const flagged = "SELECT message_id FROM poll_messages WHERE needs_operator";
  assert.deepEqual(await runSql(databaseUrl, flagged), []);
});

test("a registry that is down delays renewals and loses none", async (t) => {
  const stage = await startStage(t);
  const { gateway, reseller } = stage;
  const name = "delayed.example";
  await own(stage, name);
  const { expiration_date: before } = await portfolioEntry(gateway, reseller, name);
  gateway.registry.pause();
  await stage.travelTo(name, 30);
  const lost = "SELECT FROM order_history WHERE event = 'look-lost'";
  await until("it was asked without an answer", async () => (await runSql(gateway.databaseUrl, lost)).length > 1);
  gateway.registry.resume();
  await assertRenewedOnce(stage, name, before);
});

test("nothing is sent during a registry's maintenance, and everything after it", async (t) => {
  const stage = await startStage(t);
  const { gateway, reseller } = stage;
  const name = "maintained.example";
  await own(stage, name);
  const { expiration_date: before } = await portfolioEntry(gateway, reseller, name);
  // It begins before the time is skipped, after which names would be compared with the registry.
  const from = gateway.context.clock.now();
  const end = new Date(new Date(before).getTime() - 28 * 24 * 60 * 60_000);
  await setMaintenance(gateway.context, "sandbox", { from, until: end });
  await stage.travelTo(name, 31);
  await untilRenewalIs(gateway, name, "Scheduled");
  const asked = gateway.registry.store.journal.entries({ name }).length;
  await stage.travel(2);
  const postponed = "SELECT FROM renewals WHERE next_step_at > due_at AND status = 'Scheduled'";
  await until("it waits", async () => (await runSql(gateway.databaseUrl, postponed)).length === 1);
  assert.equal(gateway.registry.store.journal.entries({ name }).length, asked);
  await stage.travel(2);
  await assertRenewedOnce(stage, name, before);
});
