import assert from "node:assert/strict";
import { test } from "node:test";
import { startTestGateway, type TestGateway } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { createSteeredClock } from "../harness/steered-clock.ts";
import { assertEnds, creates, type PlacedOrder, place, registrarId, statusOf, until } from "./judge.ts";

/** The registry comes to hold the name for us between the order's check and its create, through no order of ours. */
async function holdForUs({ registry }: TestGateway, { name }: PlacedOrder): Promise<void> {
  const checks = () => registry.store.journal.entries({ name, command: "domain:check" });
  await until("the order has asked", () => checks().filter(({ direction }) => direction === "in").length > 1);
  const [any] = registry.store.domains.values();
  assert.ok(any);
  registry.store.domains.put({ ...any, name, clID: registrarId, authInfo: "made-by-hand-1" });
}

test("a name that we hold, but not through this order, is left to an operator and never created again (row 16a)", async (t) => {
  const clock = createSteeredClock();
  const gateway = await startTestGateway(t, { clock });
  const reseller = await gateway.addReseller();
  await assertEnds(gateway, reseller, await place(gateway, reseller, "first.example"), "Finished");
  const order = await place(gateway, reseller, "slow-400-ours.example");
  await holdForUs(gateway, order);
  const looks = (count: number) =>
    until(`it was looked at ${count} times`, async () => {
      const unexplained = "SELECT FROM order_history WHERE event = 'unexplained'";
      return (await runSql(gateway.databaseUrl, unexplained)).length >= count;
    });
  await looks(1);
  clock.skip(0.5);
  await looks(2);
  assert.equal(await statusOf(gateway, reseller, order), "Processing");
  assert.equal(creates(gateway, order.name).length, 1);

  // The operator enters it as a domain of another customer: then it is explained, and the order has lost.
  const other = await gateway.addReseller();
  const insert = `INSERT INTO domains (domain_name, reseller_id, registry_id, registration_date, expiration_date,
      registry_ex_date, will_renew, status) VALUES ($1, $2, 'sandbox', now(), now(), now(), true, 'ok')`;
  await runSql(gateway.databaseUrl, insert, [order.name, other.id]);
  clock.skip(0.5);
  const settled = await gateway.settled(reseller, order.location);
  assert.equal(settled.status, "Errors");
  assert.equal(creates(gateway, order.name).length, 1);
});
