import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { startTestGateway, type TestGateway, type TestReseller } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { holdAt } from "./hold.ts";
import { assertEnds, creates, type PlacedOrder, place, statusOf, until } from "./judge.ts";
import { decide, openAlarms, putMessage } from "./stage.ts";

async function startWithQueue(t: TestContext, { reconcileIntervalMs = 60_000, pendingDelayMs = 300 } = {}) {
  const registry = { reconcileIntervalMs, pollIntervalMs: 50 };
  const gateway = await startTestGateway(t, { registry, sandbox: { pendingDelayMs } });
  return { gateway, reseller: await gateway.addReseller() };
}

async function placePending(gateway: TestGateway, reseller: TestReseller, name: string): Promise<PlacedOrder> {
  const order = await place(gateway, reseller, name);
  await until("it is pending", async () => (await statusOf(gateway, reseller, order)) === "Pending");
  return order;
}

const queueIsEmpty = (gateway: TestGateway) =>
  until("the queue is empty", () => gateway.registry.store.messages.values().length === 0);

test("a pending name is finished or ended by the registry's message (rows 8, 20)", async (t) => {
  const { gateway, reseller } = await startWithQueue(t);
  const [approved, denied] = await Promise.all([
    placePending(gateway, reseller, "pending-approve-1.example"),
    placePending(gateway, reseller, "pending-deny-1.example"),
  ]);
  await assertEnds(gateway, reseller, approved, "Finished");
  await assertEnds(gateway, reseller, denied, "Errors");
  await queueIsEmpty(gateway);
});

test("only paResult counts, whatever the message's text says (row 20)", async (t) => {
  const { gateway, reseller } = await startWithQueue(t);
  const yes = await placePending(gateway, reseller, "pending-never-yes.example");
  const no = await placePending(gateway, reseller, "pending-never-no.example");
  decide(gateway, yes.name, true);
  putMessage(gateway, "yes-1", yes.name, true, "The pending create was denied");
  decide(gateway, no.name, false);
  putMessage(gateway, "no-1", no.name, false, "The pending create was approved");
  await assertEnds(gateway, reseller, yes, "Finished");
  await assertEnds(gateway, reseller, no, "Errors");
});

test("a message with only the registry's transaction id finds its order", async (t) => {
  const { gateway, reseller } = await startWithQueue(t);
  const order = await placePending(gateway, reseller, "pending-never-svtrid.example");
  decide(gateway, order.name, true);
  putMessage(gateway, "sv", order.name, true, "approved");
  const { messages } = gateway.registry.store;
  const message = messages.find("sv");
  assert.ok(message?.clTRID);
  messages.put({ ...message, clTRID: undefined });
  await assertEnds(gateway, reseller, order, "Finished");
});

test("a message that comes again after its commit changes nothing and is acknowledged again", async (t) => {
  const { gateway, reseller } = await startWithQueue(t);
  const order = await placePending(gateway, reseller, "pending-never-twice.example");
  decide(gateway, order.name, true);
  putMessage(gateway, "twice", order.name, true, "approved");
  await assertEnds(gateway, reseller, order, "Finished");
  await queueIsEmpty(gateway);
  // The same id as before, even with another result: the first one was applied.
  putMessage(gateway, "twice", order.name, false, "denied");
  await queueIsEmpty(gateway);
  await assertEnds(gateway, reseller, order, "Finished");
  const stored = "SELECT message_id, needs_operator FROM poll_messages";
  assert.deepEqual(await runSql(gateway.databaseUrl, stored), [{ message_id: "twice", needs_operator: false }]);
});

test("a message that no order explains is stored for an operator and does not block the queue", async (t) => {
  const { gateway, reseller } = await startWithQueue(t);
  putMessage(gateway, "0-unknown", "never-ordered.example", true, "approved");
  const order = await placePending(gateway, reseller, "pending-approve-2.example");
  await assertEnds(gateway, reseller, order, "Finished");
  await queueIsEmpty(gateway);
  const flagged = "SELECT message_id FROM poll_messages WHERE needs_operator";
  assert.deepEqual(await runSql(gateway.databaseUrl, flagged), [{ message_id: "0-unknown" }]);
});

test("a message that contradicts an order's end changes nothing, and raises an alarm (row 25)", async (t) => {
  const { gateway, reseller } = await startWithQueue(t);
  const order = await placePending(gateway, reseller, "pending-approve-3.example");
  await assertEnds(gateway, reseller, order, "Finished");
  putMessage(gateway, "late", order.name, false, "denied");
  const flagged = "SELECT FROM poll_messages WHERE message_id = 'late' AND needs_operator";
  await until("it is stored", async () => (await runSql(gateway.databaseUrl, flagged)).length > 0);
  await assertEnds(gateway, reseller, order, "Finished");
});

test("an approval that the registry does not show yet is stored, and the order looks again", async (t) => {
  const { gateway, reseller } = await startWithQueue(t, { reconcileIntervalMs: 300 });
  const order = await placePending(gateway, reseller, "pending-never-slow.example");
  putMessage(gateway, "early", order.name, true, "approved");
  await queueIsEmpty(gateway);
  assert.equal(await statusOf(gateway, reseller, order), "Pending");
  decide(gateway, order.name, true);
  await assertEnds(gateway, reseller, order, "Finished");
});

test("a denial is not believed while the registry holds the name for us, and raises an alarm (row 20)", async (t) => {
  const { gateway, reseller } = await startWithQueue(t);
  const order = await placePending(gateway, reseller, "pending-never-lie.example");
  decide(gateway, order.name, true);
  putMessage(gateway, "lie", order.name, false, "denied");
  await queueIsEmpty(gateway);
  assert.notEqual(await statusOf(gateway, reseller, order), "Errors");
  const flagged = "SELECT message_id FROM poll_messages WHERE needs_operator";
  assert.deepEqual(await runSql(gateway.databaseUrl, flagged), [{ message_id: "lie" }]);
  assert.deepEqual(await openAlarms(gateway), [{ kind: "message", subject: "sandbox/lie" }]);
  // The next look finds the same, which is the proof.
  await assertEnds(gateway, reseller, order, "Finished");
  assert.equal(creates(gateway, order.name).length, 1);
});

test("a denial that the registry does not show yet is stored, and the order looks again", async (t) => {
  const { gateway, reseller } = await startWithQueue(t, { reconcileIntervalMs: 300 });
  const order = await placePending(gateway, reseller, "pending-never-slow-no.example");
  putMessage(gateway, "early-no", order.name, false, "denied");
  await queueIsEmpty(gateway);
  assert.equal(await statusOf(gateway, reseller, order), "Pending");
  decide(gateway, order.name, false);
  await assertEnds(gateway, reseller, order, "Errors");
  assert.deepEqual(await openAlarms(gateway), []);
});

test("a decision that comes before the order is written as pending is not lost", async (t) => {
  const { gateway, reseller } = await startWithQueue(t, { pendingDelayMs: 50 });
  const hold = await holdAt(t, gateway.databaseUrl, {
    table: "orders",
    on: "UPDATE",
    when: "NEW.status = 'Pending'",
  });
  const order = await place(gateway, reseller, "pending-approve-early.example");
  await hold.reached();
  const seen = () =>
    gateway.registry.store.journal.entries({ command: "poll:req" }).filter(({ code }) => code === 1301);
  await until("the message was read", () => seen().length > 0);
  await hold.release();
  await assertEnds(gateway, reseller, order, "Finished");
  await queueIsEmpty(gateway);
});

test("without a message the registry is asked from time to time (row 21)", async (t) => {
  const { gateway, reseller } = await startWithQueue(t, { reconcileIntervalMs: 400 });
  const [lost, denied, never] = await Promise.all([
    placePending(gateway, reseller, "pending-lost-1.example"),
    placePending(gateway, reseller, "pending-never-denied.example"),
    placePending(gateway, reseller, "pending-never-1.example"),
  ]);
  decide(gateway, denied.name, false);
  await assertEnds(gateway, reseller, lost, "Finished");
  await assertEnds(gateway, reseller, denied, "Errors");
  assert.equal(await statusOf(gateway, reseller, never), "Pending");
  assert.equal(creates(gateway, never.name).length, 1);
});
