/** Cancels orders whose create was sent: the steps find out whether it was executed, and then delete or keep the name. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { startTestGateway, type TestGateway, type TestReseller } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { assertEnds, creates, deletes, type PlacedOrder, place, statusOf, until } from "./judge.ts";
import { assertRefused, cancel, operated } from "./operate.ts";
import { countEvents, decide, openAlarms, putMessage } from "./stage.ts";

const dayMs = 24 * 60 * 60_000;

async function start(t: TestContext, options: Parameters<typeof startTestGateway>[1] = {}) {
  const gateway = await startTestGateway(t, options);
  return { gateway, reseller: await gateway.addReseller() };
}

/** Cancels an order while the registry holds back the answer to its create, which it has executed. */
async function cancelSent(gateway: TestGateway, reseller: TestReseller, name: string): Promise<PlacedOrder> {
  const hold = gateway.registry.hold({ command: "domain:create", name, at: "before-answer" });
  const order = await place(gateway, reseller, name);
  await hold.reached(1);
  assert.notEqual(await cancel(gateway, order.code), "Cancelled");
  assert.notEqual(await cancel(gateway, order.code), "Cancelled", "a second request changes nothing");
  hold.release();
  return order;
}

/** Asserts that the name is in the portfolio if and only if its order is Finished. */
async function assertNeverFinished({ databaseUrl }: TestGateway, order: PlacedOrder): Promise<void> {
  const finished = `SELECT FROM order_history JOIN orders AS o ON o.id = order_id
    WHERE order_code = $1 AND order_history.status = 'Finished'`;
  assert.deepEqual(await runSql(databaseUrl, finished, [order.code]), []);
}

const cancel = (order: PlacedOrder, ...more: string[]) => ["orders", "cancel", order.code, "--wait", ...more];

const codesOf = (entries: { code?: number }[]) => entries.map(({ code }) => code);

test("a name whose create was in progress is deleted in its add grace period, and is never in the portfolio (row 23)", async (t) => {
  const { gateway, reseller } = await start(t);
  const order = await cancelSent(gateway, reseller, "unwanted.example");
  await assertEnds(gateway, reseller, order, "Cancelled");
  await assertNeverFinished(gateway, order);
  assert.deepEqual([creates(gateway, order.name).length, deletes(gateway, order.name).length], [1, 1]);
  assert.equal(await cancel(gateway, order.code), "refused");
  // It is free again, also for the same reseller.
  await assertEnds(gateway, reseller, await place(gateway, reseller, order.name), "Finished");
});

test("a create whose answer is lost is verified before it is cancelled (row 23)", async (t) => {
  const { gateway, reseller } = await start(t, { sandbox: { lateMs: 10_000, undoDelayMs: 200 } });
  const labels = { "late-": 1, "drop-after-": 1, "drop-before-": 0, "undo-after-": 0 };
  const ends = Object.entries(labels).map(async ([label, deleted]) => {
    const order = await place(gateway, reseller, `${label}1.example`);
    await until("its create is sent", () => creates(gateway, order.name).length > 0);
    assert.notEqual(await cancel(gateway, order.code), "Cancelled");
    await assertEnds(gateway, reseller, order, "Cancelled");
    await assertNeverFinished(gateway, order);
    const sent = [creates(gateway, order.name).length, deletes(gateway, order.name).length];
    assert.deepEqual(sent, [1, deleted], order.name);
  });
  await Promise.all(ends);
});

test("a name is kept when its add grace period is over before it can be deleted (row 23)", async (t) => {
  const { gateway, reseller } = await start(t, {
    registry: { graceDays: { add: 0, renew: 5, autoRenew: 45, redemption: 30, pendingDelete: 5 } },
  });
  const order = await cancelSent(gateway, reseller, "too-late.example");
  await assertEnds(gateway, reseller, order, "Finished");
  assert.deepEqual(deletes(gateway, order.name), []);
});

test("a delete whose answer is lost is not repeated before the registry was asked (row 23)", async (t) => {
  const { gateway, reseller } = await start(t, { sandbox: { lateMs: 10_000 } });
  const labels = { "delete-drop-after-": 1, "delete-late-": 1, "delete-trid-": 1, "delete-drop-before-": 2 };
  const ends = Object.entries({ ...labels, "delete-once-2400-": 2 }).map(async ([label, count]) => {
    const order = await cancelSent(gateway, reseller, `${label}1.example`);
    await assertEnds(gateway, reseller, order, "Cancelled");
    await assertNeverFinished(gateway, order);
    const sent = deletes(gateway, order.name);
    assert.equal(sent.length, count, order.name);
    assert.equal(new Set(sent.map(({ clTRID }) => clTRID)).size, count);
  });
  await Promise.all(ends);
  const open = "SELECT cl_trid FROM attempts WHERE answered_at IS NULL";
  assert.deepEqual(await runSql(gateway.databaseUrl, open), [], "attempts are left open");
});

test("a delete that was not executed is sent again, and one that is refused leaves the name with its reseller (row 23)", async (t) => {
  const { gateway, reseller } = await start(t);
  const again = await cancelSent(gateway, reseller, "delete-once-2502-1.example");
  await assertEnds(gateway, reseller, again, "Cancelled");
  assert.deepEqual(codesOf(deletes(gateway, again.name)), [2502, 1000]);
  const refused = await cancelSent(gateway, reseller, "delete-code-2304-1.example");
  await assertEnds(gateway, reseller, refused, "Finished");
  assert.deepEqual(codesOf(deletes(gateway, refused.name)), [2304]);
});

test("a name that the registry deletes later is cancelled only once it is gone (row 23)", async (t) => {
  const graceDays = { add: 0, renew: 5, autoRenew: 45, redemption: 1, pendingDelete: 1 };
  const { gateway, reseller } = await start(t, { sandbox: { graceDays }, registry: { pollIntervalMs: 50 } });
  const order = await cancelSent(gateway, reseller, "slowly.example");
  await until("it is being deleted", async () => (await countEvents(gateway, order, "delete-pending")) > 0);
  assert.equal(await statusOf(gateway, reseller, order), "Processing");
  assert.ok(gateway.registry.store.domains.find(order.name));
  gateway.registry.advance(3 * dayMs);
  await assertEnds(gateway, reseller, order, "Cancelled");
  assert.deepEqual(codesOf(deletes(gateway, order.name)), [1001]);
  assert.deepEqual(await openAlarms(gateway), []);
});

test("a message about its create does not delay the delete of an unwanted name", async (t) => {
  // The delete is retried after the message, and long before the settle time of a lost one is over.
  const { gateway, reseller } = await start(t, {
    registry: { pollIntervalMs: 50, backoffFirstMs: 5_000, backoffMaxMs: 5_000, settleMs: 3_600_000 },
  });
  const order = await cancelSent(gateway, reseller, "delete-once-2502-told.example");
  await until("its delete waits", async () => (await countEvents(gateway, order, "not-executed")) > 0);
  putMessage(gateway, "late", order.name, true, "approved");
  await until("the message is acknowledged", () => gateway.registry.store.messages.find("late") === undefined);
  await assertEnds(gateway, reseller, order, "Cancelled");
});

test("an operator who waits sees how the order ended, or that it continues", async (t) => {
  // Longer than the command takes to start.
  const { gateway, reseller } = await start(t, { registry: { transformTimeoutMs: 30_000 } });
  const waitFor = async (name: string, ended: (order: PlacedOrder) => Promise<void>) => {
    const hold = gateway.registry.hold({ command: "domain:create", name, at: "before-answer" });
    const order = await place(gateway, reseller, name);
    await hold.reached(1);
    const waiting = ended(order);
    await until(
      "its cancellation is requested",
      async () => (await countEvents(gateway, order, "cancel-requested")) > 0,
    );
    hold.release();
    await waiting;
  };
  await waitFor("unwanted.example", async (order) => {
    assert.equal((await operated(gateway, ...cancel(order))).status, "Cancelled");
  });
  await waitFor("delete-code-2304-kept.example", (order) =>
    assertRefused(gateway, cancel(order), 6, /could no longer be cancelled: it ended as Finished/),
  );
  const pending = await place(gateway, reseller, "pending-never-1.example");
  await until("it is pending", async () => (await statusOf(gateway, reseller, pending)) === "Pending");
  await assertRefused(gateway, cancel(pending, "--timeout", "1"), 7, /still being cancelled/);
});

async function cancelPending(gateway: TestGateway, reseller: TestReseller, name: string): Promise<PlacedOrder> {
  const order = await place(gateway, reseller, name);
  await until("it is pending", async () => (await statusOf(gateway, reseller, order)) === "Pending");
  assert.notEqual(await cancel(gateway, order.code), "Cancelled");
  return order;
}

test("a pending name is cancelled when its registry allows the delete (row 24)", async (t) => {
  const { gateway, reseller } = await start(t);
  const order = await cancelPending(gateway, reseller, "pending-deletable-1.example");
  await assertEnds(gateway, reseller, order, "Cancelled");
  await assertNeverFinished(gateway, order);
});

test("a pending name's delete whose answer is lost is verified (row 24)", async (t) => {
  const { gateway, reseller } = await start(t);
  const name = "pending-deletable-2.example";
  const hold = gateway.registry.hold({ command: "domain:delete", name, at: "before-answer" });
  const order = await cancelPending(gateway, reseller, name);
  await hold.reached(1);
  gateway.registry.closeSessions();
  hold.release();
  await assertEnds(gateway, reseller, order, "Cancelled");
  assert.equal(deletes(gateway, name).length, 1);
});

test("a pending name that cannot be deleted waits for the registry's decision, and is deleted once approved (row 24)", async (t) => {
  const { gateway, reseller } = await start(t, { registry: { reconcileIntervalMs: 300, pollIntervalMs: 50 } });
  const [told, untold, denied] = await Promise.all(
    ["told", "untold", "denied"].map((end) => cancelPending(gateway, reseller, `pending-never-${end}.example`)),
  );
  assert.ok(told && untold && denied);
  for (const order of [told, untold, denied]) {
    await until("its delete is refused", async () => (await countEvents(gateway, order, "delete-refused")) > 0);
    decide(gateway, order.name, order !== denied);
  }
  putMessage(gateway, "told", told.name, true, "approved");
  putMessage(gateway, "denied", denied.name, false, "denied");
  await assertEnds(gateway, reseller, denied, "Errors");
  for (const order of [told, untold]) {
    await assertEnds(gateway, reseller, order, "Cancelled");
    await assertNeverFinished(gateway, order);
    assert.deepEqual(codesOf(deletes(gateway, order.name)), [2304, 1000]);
  }
  assert.deepEqual(await openAlarms(gateway), [], "a message counts as a contradiction");
});
