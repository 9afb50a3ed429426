import assert from "node:assert/strict";
import { test } from "node:test";
import { cancelOrder } from "#domains/orders/cancel.ts";
import { sleep } from "#lib/clock.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { delayOrders, holdAt } from "./hold.ts";
import { assertEnds, creates, place, statusOf, until } from "./judge.ts";

const raceRounds = 40;

test("an order that has not started can be cancelled, and nothing is ever sent for it (row 22)", async (t) => {
  const gateway = await startTestGateway(t);
  const reseller = await gateway.addReseller();
  await delayOrders(gateway.databaseUrl, 500);
  const order = await place(gateway, reseller, "early.example");
  assert.equal(await cancelOrder(gateway.context, order.code), "cancelled");
  await assertEnds(gateway, reseller, order, "Cancelled");
  const after = await place(gateway, reseller, "early.example");
  await assertEnds(gateway, reseller, after, "Finished");
  assert.equal(creates(gateway, order.name).length, 1);
  assert.equal(await cancelOrder(gateway.context, after.code), "ended");
  assert.equal(await cancelOrder(gateway.context, "REG-00000000-000"), "unknown");
});

test("an order that is being checked, or waits, can be cancelled (row 22)", async (t) => {
  const gateway = await startTestGateway(t);
  const reseller = await gateway.addReseller();
  const checked = await place(gateway, reseller, "slow-600-checked.example");
  await until("it has begun", async () => (await statusOf(gateway, reseller, checked)) === "Processing");
  assert.equal(await cancelOrder(gateway.context, checked.code), "cancelled");
  const waiting = await place(gateway, reseller, "slow-600-waiting.example");
  await until("it has begun", async () => (await statusOf(gateway, reseller, waiting)) === "Processing");
  gateway.registry.pause();
  const waits = "SELECT FROM registration_orders WHERE phase = 'waiting'";
  await until("it waits", async () => (await runSql(gateway.databaseUrl, waits)).length > 0);
  assert.equal(await cancelOrder(gateway.context, waiting.code), "cancelled");
  gateway.registry.resume();
  await assertEnds(gateway, reseller, checked, "Cancelled");
  await assertEnds(gateway, reseller, waiting, "Cancelled");
  assert.deepEqual([...creates(gateway, checked.name), ...creates(gateway, waiting.name)], []);
});

test("an order whose contact is ready, but whose create is not sent, can be cancelled (row 22)", async (t) => {
  const gateway = await startTestGateway(t);
  const reseller = await gateway.addReseller();
  const hold = await holdAt(t, gateway.databaseUrl, { table: "registry_contacts", on: "INSERT", when: "true" });
  const order = await place(gateway, reseller, "contact-only.example");
  await hold.reached();
  assert.equal(await cancelOrder(gateway.context, order.code), "cancelled");
  await hold.release();
  await assertEnds(gateway, reseller, order, "Cancelled");
  // The same session would have carried its create by now.
  await assertEnds(gateway, reseller, await place(gateway, reseller, "next.example"), "Finished");
  assert.deepEqual(creates(gateway, order.name), []);
});

test("of a cancel and a create at the same time one comes first, and the order ends cancelled after both", async (t) => {
  const gateway = await startTestGateway(t);
  const reseller = await gateway.addReseller();
  // With a known contact the create follows the check at once.
  await assertEnds(gateway, reseller, await place(gateway, reseller, "warm-up.example"), "Finished");
  const results: Record<string, number> = {};
  for (let round = 0; round < raceRounds; round++) {
    const order = await place(gateway, reseller, `at-once-${round}.test`);
    await sleep(round % 20);
    const result = await cancelOrder(gateway.context, order.code);
    await assertEnds(gateway, reseller, order, result === "ended" ? "Finished" : "Cancelled");
    if (result === "cancelled") assert.deepEqual(creates(gateway, order.name), []);
    results[result] = (results[result] ?? 0) + 1;
  }
  t.diagnostic(JSON.stringify(results));
});
