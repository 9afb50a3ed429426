import assert from "node:assert/strict";
import { test } from "node:test";
import { resumeCreatesPausedFor } from "#domains/registry/pause.ts";
import { startTestGateway, type TestGateway, type TestReseller } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { createSteeredClock } from "../harness/steered-clock.ts";
import { holdAt } from "./hold.ts";
import { assertEnds, creates, place, statusOf, until } from "./judge.ts";
import { openAlarms } from "./stage.ts";

async function assertPaused(gateway: TestGateway, reseller: TestReseller): Promise<void> {
  const paused = "SELECT FROM registries WHERE creates_paused_reason IS NOT NULL";
  await until("creates are paused", async () => (await runSql(gateway.databaseUrl, paused)).length > 0);
  const body = { domain_name: "while-paused.example" };
  const refused = await gateway.send(reseller, "POST", "/domains/registrations", { body });
  assert.equal(refused.status, 503);
  assert.ok(Number(refused.headers["retry-after"]) > 0);
}

test("a refusal because of our configuration ends the order and pauses creates until they are resumed (row 11)", async (t) => {
  const gateway = await startTestGateway(t);
  const reseller = await gateway.addReseller();
  for (const code of [2100, 2101, 2102, 2103, 2201, 2307]) {
    await assertEnds(gateway, reseller, await place(gateway, reseller, `code-${code}-x.example`), "Errors");
    await assertPaused(gateway, reseller);
    assert.deepEqual(await openAlarms(gateway), [{ kind: "creates-paused", subject: "sandbox" }]);
    assert.ok(await resumeCreatesPausedFor(gateway.context, "sandbox", "any"));
    assert.deepEqual(await openAlarms(gateway), []);
    await assertEnds(gateway, reseller, await place(gateway, reseller, `after-${code}.example`), "Finished");
  }
  assert.equal(await resumeCreatesPausedFor(gateway.context, "sandbox", "any"), false);
});

test("an order that was accepted before a pause waits for the operator and is not refused after it (row 11)", async (t) => {
  const gateway = await startTestGateway(t);
  const reseller = await gateway.addReseller();
  const hold = await holdAt(t, gateway.databaseUrl, {
    table: "orders",
    on: "UPDATE",
    when: "NEW.phase = 'create' AND NEW.domain_name = 'other.example'",
  });
  const waiting = await place(gateway, reseller, "other.example");
  await hold.reached();
  await assertEnds(gateway, reseller, await place(gateway, reseller, "code-2101-x.example"), "Errors");
  await hold.release();
  const held = "SELECT FROM order_history WHERE note = 'creates at sandbox are paused'";
  await until("the other order waits", async () => (await runSql(gateway.databaseUrl, held)).length > 0);
  assert.deepEqual(creates(gateway, waiting.name), []);
  assert.equal(await statusOf(gateway, reseller, waiting), "Processing");
  assert.ok(await resumeCreatesPausedFor(gateway.context, "sandbox", "any"));
  await assertEnds(gateway, reseller, waiting, "Finished");
});

test("without credit an order waits, and continues when there is credit again (row 12)", async (t) => {
  const clock = createSteeredClock();
  const gateway = await startTestGateway(t, { clock });
  const reseller = await gateway.addReseller();
  const order = await place(gateway, reseller, "once-2104-x.example");
  await assertPaused(gateway, reseller);
  const waits = "SELECT FROM orders WHERE phase = 'waiting'";
  await until("it waits", async () => (await runSql(gateway.databaseUrl, waits)).length > 0);
  assert.equal(await statusOf(gateway, reseller, order), "Processing");
  clock.skip(0.3);
  await assertEnds(gateway, reseller, order, "Finished");
  await assertEnds(gateway, reseller, await place(gateway, reseller, "after.example"), "Finished");
});

const untilResumed = ({ databaseUrl }: TestGateway) =>
  until("creates are not paused", async () => {
    const resumed = "SELECT FROM registries WHERE creates_paused_reason IS NULL";
    return (await runSql(databaseUrl, resumed)).length > 0;
  });

test("a create that succeeds although it began before the credit ran out ends the pause for all orders but those just refused", async (t) => {
  const gateway = await startTestGateway(t);
  const reseller = await gateway.addReseller();
  // An order sends its create at once only when its contact is known.
  await assertEnds(gateway, reseller, await place(gateway, reseller, "first.example"), "Finished");
  const hold = gateway.registry.hold({ command: "domain:create", name: "paid.example", at: "before-answer" });
  const paid = await place(gateway, reseller, "paid.example");
  await hold.reached(1);
  const dear = await place(gateway, reseller, "code-2104-dear.example");
  await assertPaused(gateway, reseller);
  hold.release();
  await assertEnds(gateway, reseller, paid, "Finished");
  await untilResumed(gateway);
  assert.deepEqual(await openAlarms(gateway), []);
  await assertEnds(gateway, reseller, await place(gateway, reseller, "after.example"), "Finished");
  assert.equal(creates(gateway, dear.name).length, 1);
});

test("a lack of credit that is written after a later create has succeeded pauses creates only briefly", async (t) => {
  const gateway = await startTestGateway(t);
  const reseller = await gateway.addReseller();
  const when = "OLD.phase = 'create' AND NEW.phase = 'waiting'";
  const hold = await holdAt(t, gateway.databaseUrl, { table: "orders", on: "UPDATE", when });
  const refused = await place(gateway, reseller, "once-2104-x.example");
  await hold.reached();
  await assertEnds(gateway, reseller, await place(gateway, reseller, "paid.example"), "Finished");
  await hold.release();
  const alarms = "SELECT FROM alarms WHERE kind = 'creates-paused'";
  await until("creates were paused", async () => (await runSql(gateway.databaseUrl, alarms)).length > 0);
  await untilResumed(gateway);
  assert.equal(await statusOf(gateway, reseller, refused), "Processing");
});

test("without credit for a day an order ends, and the day counts from the first refusal (row 12)", async (t) => {
  const clock = createSteeredClock();
  const gateway = await startTestGateway(t, { clock });
  const reseller = await gateway.addReseller();
  const order = await place(gateway, reseller, "code-2104-x.example");
  const refused = "SELECT FROM order_history WHERE event = 'out-of-credit'";
  const refusals = (count: number) =>
    until(`it was refused ${count} times`, async () => (await runSql(gateway.databaseUrl, refused)).length === count);
  await refusals(1);
  clock.skip(23);
  await refusals(2);
  assert.equal(await statusOf(gateway, reseller, order), "Processing");
  clock.skip(2);
  await assertEnds(gateway, reseller, order, "Errors");
  assert.equal(creates(gateway, order.name).length, 3);
});
