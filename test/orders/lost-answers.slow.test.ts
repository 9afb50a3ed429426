import assert from "node:assert/strict";
import { test } from "node:test";
import { openSecret } from "#domains/kinds/registration.ts";
import { findOrderByCode } from "#domains/orders/order.ts";
import { startTestGateway, type TestGateway, type TestReseller } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { createSteeredClock } from "../harness/steered-clock.ts";
import { assertEnds, creates, place, statusOf, until } from "./judge.ts";
import { alarmedOrders, countEvents, openAlarms } from "./stage.ts";

async function assertFinish(gateway: TestGateway, reseller: TestReseller, names: string[]): Promise<void> {
  const orders = await Promise.all(names.map((name) => place(gateway, reseller, name)));
  await Promise.all(orders.map((order) => assertEnds(gateway, reseller, order, "Finished")));
  const open = "SELECT cl_trid FROM attempts WHERE answered_at IS NULL";
  assert.deepEqual(await runSql(gateway.databaseUrl, open), [], "attempts are left open");
}

test("a create that was executed is found again when its answer is lost, and is not repeated (rows 14, 15)", async (t) => {
  const gateway = await startTestGateway(t);
  const reseller = await gateway.addReseller();
  const names = ["drop-after-1.example", "garbage-1.example", "trid-1.example", "short-1.example"];
  await assertFinish(gateway, reseller, names);
  for (const name of names) assert.equal(creates(gateway, name).length, 1, name);
});

test("an answer that comes after the timeout is never read (rows 14, 15)", async (t) => {
  const gateway = await startTestGateway(t, { sandbox: { lateMs: 1_500 } });
  const reseller = await gateway.addReseller();
  await assertFinish(gateway, reseller, ["late-1.example"]);
  assert.equal(creates(gateway, "late-1.example").length, 1);
});

test("a create that the registry never received, or failed to execute, is sent again (row 17)", async (t) => {
  const gateway = await startTestGateway(t);
  const reseller = await gateway.addReseller();
  const names = ["drop-before-1.example", "once-2400-1.example", "once-2500-1.example"];
  await assertFinish(gateway, reseller, names);
  for (const name of names) assert.equal(creates(gateway, name).length, 2, name);
});

test("a create that the registry undid is noticed by the second look, and sent again (rows 15, 17)", async (t) => {
  const gateway = await startTestGateway(t, { sandbox: { undoDelayMs: 700 } });
  const reseller = await gateway.addReseller();
  await assertFinish(gateway, reseller, ["undo-after-1.example"]);
  const executed = creates(gateway, "undo-after-1.example").filter((entry) => entry.executed);
  assert.equal(executed.length, 2);
});

test("after five creates without a trace an operator decides (row 17)", async (t) => {
  const gateway = await startTestGateway(t, { registry: { settleMs: 50 } });
  const reseller = await gateway.addReseller();
  gateway.registry.setFaults({ commands: [{ command: "domain:create", as: "drop-before" }] });
  const order = await place(gateway, reseller, "ever.example");
  const note = "SELECT FROM orders WHERE operator_note LIKE '5 creates were lost%'";
  await until("it needs an operator", async () => (await runSql(gateway.databaseUrl, note)).length > 0);
  assert.equal(await statusOf(gateway, reseller, order), "Processing");
  assert.equal(creates(gateway, order.name).length, 5);
  assert.deepEqual(await openAlarms(gateway), [{ kind: "order", subject: order.code }]);
});

test("an order never ends without an answer: it asks until the registry answers (row 19)", async (t) => {
  const gateway = await startTestGateway(t);
  const reseller = await gateway.addReseller();
  const order = await place(gateway, reseller, "drop-after-down.example");
  await until("the create is executed", () => creates(gateway, order.name).some((entry) => entry.executed));
  gateway.registry.pause();
  const ignorant = "SELECT FROM order_history WHERE event = 'verify-lost'";
  await until("it was asked without an answer", async () => (await runSql(gateway.databaseUrl, ignorant)).length > 1);
  assert.equal(await statusOf(gateway, reseller, order), "Processing");
  gateway.registry.resume();
  await assertEnds(gateway, reseller, order, "Finished");
  assert.equal(creates(gateway, order.name).length, 1);
});

test("an order that gets no answer for a day is in the operator's queue until the registry answers (row 19)", async (t) => {
  const clock = createSteeredClock();
  // Meanwhile the check for absent registries runs too: its alarm is another one.
  const gateway = await startTestGateway(t, { clock, registry: { pollIntervalMs: 20 } });
  const reseller = await gateway.addReseller();
  const order = await place(gateway, reseller, "drop-after-day.example");
  await until("the create is executed", () => creates(gateway, order.name).some((entry) => entry.executed));
  gateway.registry.pause();
  const askedInVain = (times: number) =>
    until(`it was asked ${times} times`, async () => (await countEvents(gateway, order, "verify-lost")) >= times);
  await askedInVain(1);
  clock.skip(23);
  await askedInVain(2);
  assert.deepEqual(await alarmedOrders(gateway), []);
  clock.skip(2);
  await until("it raises an alarm", async () => (await alarmedOrders(gateway)).length > 0);
  assert.deepEqual(await alarmedOrders(gateway), [order.code]);
  assert.equal(await statusOf(gateway, reseller, order), "Processing");
  const logins = () => gateway.registry.store.journal.entries({ command: "login" }).length;
  const loginsBefore = logins();
  gateway.registry.resume();
  // Without a session, the order would wait for another quarter of an hour by this clock.
  await until("there is a session again", () => logins() > loginsBefore);
  clock.skip(0.5);
  await assertEnds(gateway, reseller, order, "Finished");
  assert.deepEqual(await alarmedOrders(gateway), []);
  assert.equal(creates(gateway, order.name).length, 1);
});

test("a failure of ours after the registry's answer is not a refusal: the name is found (row 14)", async (t) => {
  const gateway = await startTestGateway(t);
  const reseller = await gateway.addReseller();
  const order = await place(gateway, reseller, "slow-300-ours.example");
  // The registry's answer is written together with the name.
  const raise = `CREATE FUNCTION test_raise() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no'; END $$;
    CREATE TRIGGER test_raise BEFORE INSERT ON domains FOR EACH ROW EXECUTE FUNCTION test_raise()`;
  await runSql(gateway.databaseUrl, raise);
  const failed = "SELECT FROM orders WHERE next_step_at > updated_at";
  await until(
    "the step has failed, and is to be tried again",
    async () => (await runSql(gateway.databaseUrl, failed)).length > 0,
  );
  await runSql(gateway.databaseUrl, "DROP TRIGGER test_raise ON domains");
  await assertEnds(gateway, reseller, order, "Finished");
  assert.equal(creates(gateway, order.name).length, 1);
});

test("a name that is taken after we sent a create is verified, because it may be ours (row 5a)", async (t) => {
  const gateway = await startTestGateway(t, { registry: { backoffFirstMs: 1_500, backoffMaxMs: 1_500 } });
  const reseller = await gateway.addReseller();
  await assertFinish(gateway, reseller, ["first.example"]);
  const order = await place(gateway, reseller, "once-2200-late.example");
  await until("its create was refused", () => creates(gateway, order.name).length > 0);
  // The registry executes it after all.
  const stored = await findOrderByCode(gateway.context, order.code);
  const { domains } = gateway.registry.store;
  const [any] = domains.values();
  assert.ok(stored && any);
  const authInfo = openSecret(gateway.context, stored).authInfo.reveal();
  domains.put({ ...any, name: order.name, authInfo });
  assert.equal((await gateway.settled(reseller, order.location)).status, "Finished");
  assert.equal(creates(gateway, order.name).length, 1);
});

test("a create that is executed after its order's end raises an alarm, because no order explains the name", async (t) => {
  const gateway = await startTestGateway(t);
  const reseller = await gateway.addReseller();
  // The first order creates the contact. The second one sends its create at once: its reseller's contact is known.
  for (const name of ["by-steps.example", "straight.example"]) {
    const hold = gateway.registry.hold({ command: "domain:create", name, at: "before-execution" });
    const order = await place(gateway, reseller, name);
    await hold.reached(1);
    // As the successor of a suspended process would: it looks for the name, and the operator cancels the order.
    const end = "UPDATE orders SET status = 'Cancelled', phase = NULL, ended_at = now() WHERE order_code = $1";
    await runSql(gateway.databaseUrl, end, [order.code]);
    hold.release();
    await until("it raises an alarm", async () => (await openAlarms(gateway)).at(-1)?.subject === order.code);
    assert.equal(await statusOf(gateway, reseller, order), "Cancelled");
  }
});
