/** Messages of the registry that come late, and messages that must be read before anything else (rows 17, 25). */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { finishMessages } from "#domains/messages/messages.ts";
import { listOrders } from "#domains/orders/show.ts";
import { startTestGateway, type TestGateway } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { assertEnds, creates, type PlacedOrder, place, registrarId, statusOf, until } from "./judge.ts";
import { assertRefused, cancel, operated } from "./operate.ts";
import { countEvents, decide, openAlarms } from "./stage.ts";

async function start(t: TestContext, options: Parameters<typeof startTestGateway>[1] = {}) {
  const gateway = await startTestGateway(t, { registry: { pollIntervalMs: 50 }, ...options });
  return { gateway, reseller: await gateway.addReseller() };
}

/** A message of the registry about an order's create; resolves when it was acknowledged. */
async function tell(
  gateway: TestGateway,
  { name }: PlacedOrder,
  approved: boolean,
  clTRID = creates(gateway, name).at(-1)?.clTRID,
): Promise<string> {
  const { store } = gateway.registry;
  const id = `late-${store.nextNumber()}`;
  const about = { name, approved, clTRID, svTRID: creates(gateway, name).at(-1)?.svTRID ?? "SBX-0" };
  store.messages.put({ id, registrar: registrarId, queuedAt: "2030-01-01T00:00:00.000Z", text: "decided", ...about });
  await until("it is acknowledged", () => store.messages.find(id) === undefined);
  return id;
}

async function codesInNeed({ context }: TestGateway): Promise<string[]> {
  const listed = await listOrders(context, { attention: true, limit: 10 });
  return listed.map(({ order_code }) => order_code);
}

const endings = [
  { label: "fine", status: "Finished" },
  { label: "race-1", status: "Errors" },
  { label: "code-2005-1", status: "FailedValidation" },
  { label: "drop-before-1", status: "Cancelled" },
];

test("a message that comes after an order's end needs an operator if and only if it contradicts it (row 25)", async (t) => {
  const { gateway, reseller } = await start(t);
  for (const { label, status } of endings) {
    const order = await place(gateway, reseller, `${label}.example`);
    await until("its create is sent", () => creates(gateway, order.name).length > 0);
    if (status === "Cancelled") assert.notEqual(await cancel(gateway, order.code), "Cancelled");
    await assertEnds(gateway, reseller, order, status);
    const isFinished = status === "Finished";
    await tell(gateway, order, isFinished);
    assert.deepEqual(await openAlarms(gateway), [], `${status} agrees`);
    const contradiction = await tell(gateway, order, !isFinished);
    assert.deepEqual(await openAlarms(gateway), [{ kind: "message", subject: `sandbox/${contradiction}` }], status);
    await assertEnds(gateway, reseller, order, status);
    assert.deepEqual(await codesInNeed(gateway), [order.code]);
    const done = { registryId: "sandbox", messageId: contradiction, note: "asked the registry" };
    assert.equal(await finishMessages(gateway.context, done), 1);
    assert.deepEqual(await openAlarms(gateway), []);
    assert.deepEqual(await codesInNeed(gateway), []);
  }
});

test("a name that was approved, and then deleted because it was cancelled, is no contradiction (row 25)", async (t) => {
  const { gateway, reseller } = await start(t);
  const order = await place(gateway, reseller, "drop-after-1.example");
  await until("its create is executed", () => creates(gateway, order.name).length > 0);
  assert.notEqual(await cancel(gateway, order.code), "Cancelled");
  await assertEnds(gateway, reseller, order, "Cancelled");
  await tell(gateway, order, true);
  assert.deepEqual(await openAlarms(gateway), []);
});

test("a message that no order explains waits for an operator, who notes what was done about it", async (t) => {
  const { gateway } = await start(t);
  const about = { name: "unknown.example", approved: true, clTRID: "NOT-OURS-1", svTRID: "SBX-0" };
  const message = { id: "odd", registrar: registrarId, queuedAt: "2030-01-01T00:00:00.000Z", text: "hello", ...about };
  gateway.registry.store.messages.put(message);
  await until("it is acknowledged", () => gateway.registry.store.messages.find("odd") === undefined);
  const [listed] = await operated<Record<string, unknown>[]>(gateway, "messages", "list");
  assert.deepEqual([listed?.registry, listed?.message_id, listed?.order_code], ["sandbox", "odd", null]);
  assert.match(String((await operated(gateway, "messages", "show", "sandbox", "odd")).payload), /unknown\.example/);
  await operated(gateway, "messages", "done", "sandbox", "odd", "--note", "a transfer made by hand");
  assert.deepEqual(await operated(gateway, "messages", "list"), []);
  const [done] = await operated<Record<string, unknown>[]>(gateway, "messages", "list", "--all");
  assert.equal(done?.done_note, "a transfer made by hand");
  const again = ["messages", "done", "sandbox", "odd", "--note", "again"];
  await assertRefused(gateway, again, 4, /no message with this registry and id needs/);
  await assertRefused(gateway, ["messages", "show", "sandbox", "none"], 4, /there is no message none/);
});

test("a name that is gone is not created again before the messages are read: it may have been denied (row 17)", async (t) => {
  const { gateway, reseller } = await start(t, {
    registry: { pollIntervalMs: 50, queryTimeoutMs: 500 },
    sandbox: { pendingDelayMs: 50 },
  });
  const name = "pending-deny-unheard.example";
  const answer = gateway.registry.hold({ command: "domain:create", name, at: "before-answer" });
  const messages = gateway.registry.hold({ command: "poll:req", at: "before-execution" });
  const order = await place(gateway, reseller, name);
  await answer.reached(1);
  gateway.registry.closeSessions();
  answer.release();
  await until("its messages cannot be read", async () => (await countEvents(gateway, order, "verify-lost")) > 0);
  messages.release();
  await assertEnds(gateway, reseller, order, "Errors");
  assert.equal(creates(gateway, name).length, 1);
});

test("a message about a create that was repeated does not apply to the repeated one", async (t) => {
  const { gateway, reseller } = await start(t);
  const name = "pending-never-older.example";
  const first = gateway.registry.hold({ command: "domain:create", name, at: "before-execution", times: 1 });
  const order = await place(gateway, reseller, name);
  await first.reached(1);
  gateway.registry.closeSessions();
  await first.abandoned(1);
  first.release({ execute: false });
  await until("the second is pending", async () => (await statusOf(gateway, reseller, order)) === "Pending");
  const attempts = "SELECT cl_trid FROM attempts WHERE command = 'domain:create' ORDER BY number";
  const [older, ...others] = await runSql<{ cl_trid: string }>(gateway.databaseUrl, attempts);
  assert.equal(others.length, 1);
  await tell(gateway, order, false, older?.cl_trid);
  assert.equal(await statusOf(gateway, reseller, order), "Pending");
  decide(gateway, name, true);
  await tell(gateway, order, true);
  await assertEnds(gateway, reseller, order, "Finished");
  await tell(gateway, order, false, older?.cl_trid);
  assert.deepEqual(await openAlarms(gateway), []);
});
