import assert from "node:assert/strict";
import { test } from "node:test";
import { startTestGateway } from "../harness/gateway.ts";
import { insertDomains } from "../harness/insert-domains.ts";
import { runSql } from "../harness/sql.ts";
import { createSteeredClock } from "../harness/steered-clock.ts";
import { delayOrders } from "./hold.ts";
import { assertEnds, creates, place, statusOf, until } from "./judge.ts";
import { countEvents, holdByHand, openAlarms, placeUnexplained } from "./stage.ts";

test("a name that we hold, but not through this order, needs an operator and is never created again (row 6)", async (t) => {
  const clock = createSteeredClock();
  const gateway = await startTestGateway(t, { clock, context: { checkFreshMs: 0 } });
  const reseller = await gateway.addReseller();
  await assertEnds(gateway, reseller, await place(gateway, reseller, "first.example"), "Finished");
  const order = await placeUnexplained(gateway, reseller, "ours.example");
  assert.deepEqual(await openAlarms(gateway), [{ kind: "order", subject: order.code }]);
  clock.skip(0.5);
  await until(
    "it is looked at again",
    async () => (await countEvents(gateway, order, "look-lost", "%no order explains it")) > 1,
  );
  assert.equal(await statusOf(gateway, reseller, order), "Processing");
  assert.equal(creates(gateway, order.name).length, 1);
  assert.equal((await openAlarms(gateway)).length, 1, "one alarm for one thing");

  // The operator enters it as a domain of another customer: that explains the name, and the order fails.
  const other = await gateway.addReseller();
  await insertDomains(gateway.databaseUrl, other, [order.name]);
  clock.skip(0.5);
  const settled = await gateway.settled(reseller, order.location);
  assert.equal(settled.status, "Errors");
  assert.equal(creates(gateway, order.name).length, 1);
  assert.deepEqual(await openAlarms(gateway), []);
});

test("a name in another portfolio does not become the order's, even without an authInfo and with a matching date", async (t) => {
  const gateway = await startTestGateway(t, { context: { checkFreshMs: 0 } });
  const reseller = await gateway.addReseller();
  await assertEnds(gateway, reseller, await place(gateway, reseller, "first.example"), "Finished");
  const name = "raced.example";
  const hold = gateway.registry.hold({ command: "domain:create", name, at: "before-execution" });
  const order = await place(gateway, reseller, name);
  await hold.reached(1);
  holdByHand(gateway, name, "");
  await insertDomains(gateway.databaseUrl, await gateway.addReseller(), [name]);
  hold.release();
  assert.equal((await gateway.settled(reseller, order.location)).status, "Errors");
});

test("a name that ended here and comes back belongs to no order: an operator decides (row 6)", async (t) => {
  const gateway = await startTestGateway(t, { context: { checkFreshMs: 0 } });
  const [former, reseller] = [await gateway.addReseller(), await gateway.addReseller()];
  const names = ["first.example", "again.example"];
  for (const name of names) await assertEnds(gateway, former, await place(gateway, former, name), "Finished");
  gateway.registry.store.domains.delete("again.example");
  await runSql(gateway.databaseUrl, "DELETE FROM domains WHERE domain_name = 'again.example'");
  const order = await placeUnexplained(gateway, reseller, "again.example");
  assert.deepEqual(await openAlarms(gateway), [{ kind: "order", subject: order.code }]);
  assert.equal(await statusOf(gateway, reseller, order), "Processing");
});

test("an order whose steps fail by a fault of ours raises an alarm, and continues once that is fixed", async (t) => {
  const gateway = await startTestGateway(t);
  const { databaseUrl } = gateway;
  const reseller = await gateway.addReseller();
  await delayOrders(databaseUrl, 500);
  const order = await place(gateway, reseller, "unreadable.example");
  const [sealed] = await runSql<{ secret_sealed: Buffer }>(databaseUrl, "SELECT secret_sealed FROM orders");
  const seal = "UPDATE orders SET secret_sealed = $1";
  await runSql(databaseUrl, seal, [Buffer.from("sealed with a key that is gone")]);
  await until("it is an alarm", async () => (await openAlarms(gateway)).some(({ subject }) => subject === order.code));
  assert.deepEqual(creates(gateway, order.name), []);
  await runSql(databaseUrl, seal, [sealed?.secret_sealed ?? null]);
  await assertEnds(gateway, reseller, order, "Finished");
  assert.deepEqual(await openAlarms(gateway), []);
});
