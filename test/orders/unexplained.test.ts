import assert from "node:assert/strict";
import { test } from "node:test";
import { startTestGateway } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { createSteeredClock } from "../harness/steered-clock.ts";
import { assertEnds, creates, place, statusOf, until } from "./judge.ts";
import { countEvents, openAlarms, placeUnexplained } from "./stage.ts";

test("a name that we hold, but not through this order, is left to an operator and never created again (row 16a)", async (t) => {
  const clock = createSteeredClock();
  const gateway = await startTestGateway(t, { clock, context: { checkFreshMs: 0 } });
  const reseller = await gateway.addReseller();
  await assertEnds(gateway, reseller, await place(gateway, reseller, "first.example"), "Finished");
  const order = await placeUnexplained(gateway, reseller, "ours.example");
  assert.deepEqual(await openAlarms(gateway), [{ kind: "order", subject: order.code }]);
  clock.skip(0.5);
  await until("it is looked at again", async () => (await countEvents(gateway, order, "unexplained")) > 1);
  assert.equal(await statusOf(gateway, reseller, order), "Processing");
  assert.equal(creates(gateway, order.name).length, 1);
  assert.equal((await openAlarms(gateway)).length, 1, "one alarm for one thing");

  // The operator enters it as a domain of another customer: then it is explained, and the order has lost.
  const other = await gateway.addReseller();
  const insert = `INSERT INTO domains (domain_name, reseller_id, registry_id, registration_date, expiration_date,
      registry_ex_date, will_renew, status) VALUES ($1, $2, 'sandbox', now(), now(), now(), true, 'ok')`;
  await runSql(gateway.databaseUrl, insert, [order.name, other.id]);
  clock.skip(0.5);
  const settled = await gateway.settled(reseller, order.location);
  assert.equal(settled.status, "Errors");
  assert.equal(creates(gateway, order.name).length, 1);
  assert.deepEqual(await openAlarms(gateway), []);
});
