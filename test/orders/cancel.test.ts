import assert from "node:assert/strict";
import { test } from "node:test";
import { sleep } from "#lib/clock.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { delayOrders, holdAt } from "./hold.ts";
import { assertEnds, creates, place, statusOf, until } from "./judge.ts";
import { cancel } from "./operate.ts";

const raceRounds = 40;

test("an order that has not started can be cancelled, and nothing is ever sent for it (row 22)", async (t) => {
  const gateway = await startTestGateway(t);
  const reseller = await gateway.addReseller();
  await delayOrders(gateway.databaseUrl, 500);
  const order = await place(gateway, reseller, "early.example");
  assert.equal(await cancel(gateway, order.code), "Cancelled");
  await assertEnds(gateway, reseller, order, "Cancelled");
  const after = await place(gateway, reseller, "early.example");
  await assertEnds(gateway, reseller, after, "Finished");
  assert.equal(creates(gateway, order.name).length, 1);
  assert.equal(await cancel(gateway, after.code), "refused");
  assert.equal(await cancel(gateway, "REG-00000000-000"), "not-found");
});

test("an order that is being checked, or waits, can be cancelled (row 22)", async (t) => {
  const gateway = await startTestGateway(t);
  const reseller = await gateway.addReseller();
  const checked = await place(gateway, reseller, "slow-600-checked.example");
  await until("it has begun", async () => (await statusOf(gateway, reseller, checked)) === "Processing");
  assert.equal(await cancel(gateway, checked.code), "Cancelled");
  const waiting = await place(gateway, reseller, "slow-600-waiting.example");
  await until("it has begun", async () => (await statusOf(gateway, reseller, waiting)) === "Processing");
  gateway.registry.pause();
  const waits = "SELECT FROM orders WHERE phase = 'send' AND backoff_count > 0";
  await until("it waits", async () => (await runSql(gateway.databaseUrl, waits)).length > 0);
  assert.equal(await cancel(gateway, waiting.code), "Cancelled");
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
  assert.equal(await cancel(gateway, order.code), "Cancelled");
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
    const result = await cancel(gateway, order.code);
    await assertEnds(gateway, reseller, order, result === "refused" ? "Finished" : "Cancelled");
    if (result === "Cancelled") assert.deepEqual(creates(gateway, order.name), []);
    results[result] = (results[result] ?? 0) + 1;
  }
  t.diagnostic(JSON.stringify(results));
});
