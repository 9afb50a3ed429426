import assert from "node:assert/strict";
import { test } from "node:test";
import { startTestGateway } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { delayOrders } from "./hold.ts";
import { assertEnds, creates, place, statusOf, until } from "./judge.ts";

test("an order waits as NotProvisioned while the registry is down, and then finishes (row 3)", async (t) => {
  const gateway = await startTestGateway(t);
  const reseller = await gateway.addReseller();
  await delayOrders(gateway.databaseUrl, 700);
  const order = await place(gateway, reseller, "waits.example");
  gateway.registry.pause();
  const circuit = "SELECT FROM registries WHERE circuit_open_until IS NOT NULL";
  await until("the circuit is open", async () => (await runSql(gateway.databaseUrl, circuit)).length > 0);
  assert.equal(await statusOf(gateway, reseller, order), "NotProvisioned");
  const another = { body: { domain_name: "another.example" } };
  assert.equal((await gateway.send(reseller, "POST", "/domains/registrations", another)).status, 503);
  gateway.registry.resume();
  await assertEnds(gateway, reseller, order, "Finished");
  assert.equal(creates(gateway, order.name).length, 1);
});

test("a name that is taken after the order was accepted ends it, and no create is sent (row 5)", async (t) => {
  const gateway = await startTestGateway(t);
  const reseller = await gateway.addReseller();
  await delayOrders(gateway.databaseUrl, 700);
  const order = await place(gateway, reseller, "sniped.example");
  await gateway.registry.seed([order.name]);
  await assertEnds(gateway, reseller, order, "Errors");
  assert.deepEqual(creates(gateway, order.name), []);
});

test("a name that is reserved after the order was accepted fails its validation, and no create is sent (row 5)", async (t) => {
  const gateway = await startTestGateway(t);
  const reseller = await gateway.addReseller();
  await delayOrders(gateway.databaseUrl, 700);
  const order = await place(gateway, reseller, "later.example");
  // The sandbox reserves names by how they begin, so the test changes the order's name instead of the registry's answer.
  const rename = `UPDATE orders SET domain_name = 'reserved-later.example', checked_at = NULL
    WHERE order_code = $1 AND status = 'NotProvisioned' RETURNING id`;
  assert.equal((await runSql(gateway.databaseUrl, rename, [order.code])).length, 1);
  const reserved = { ...order, name: "reserved-later.example" };
  await assertEnds(gateway, reseller, reserved, "FailedValidation");
  assert.deepEqual(creates(gateway, reserved.name), []);
});

test("a check whose answer is lost is asked again, as queries are safe to repeat (row 6)", async (t) => {
  const gateway = await startTestGateway(t);
  const reseller = await gateway.addReseller();
  const order = await place(gateway, reseller, "slow-700-check.example");
  const checks = () => gateway.registry.store.journal.entries({ name: order.name, command: "domain:check" });
  await until("the order's own check is sent", () => checks().filter(({ direction }) => direction === "in").length > 1);
  gateway.registry.closeSessions();
  await assertEnds(gateway, reseller, order, "Finished");
});

test("answers that come one byte at a time are answers", async (t) => {
  const gateway = await startTestGateway(t);
  const reseller = await gateway.addReseller();
  await assertEnds(gateway, reseller, await place(gateway, reseller, "dribble-1.example"), "Finished");
});

test("the delays between an order's retries grow until one succeeds", async (t) => {
  const gateway = await startTestGateway(t);
  const reseller = await gateway.addReseller();
  const order = await place(gateway, reseller, "slow-500-again.example");
  await until("it has begun", async () => (await statusOf(gateway, reseller, order)) === "Processing");
  gateway.registry.pause();
  const grown = "SELECT FROM orders WHERE backoff_count >= 3";
  await until("it has failed three times", async () => (await runSql(gateway.databaseUrl, grown)).length > 0);
  gateway.registry.resume();
  await assertEnds(gateway, reseller, order, "Finished");
});
