/** Creates that are answered with success and without the exDate, which is optional (RFC 5731 §3.2.1). */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startTestGateway, type TestGateway } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { assertEnds, creates, type PlacedOrder, place, registrarId, statusOf, until } from "./judge.ts";
import { operated } from "./operate.ts";
import { countEvents } from "./stage.ts";

const undated = { sandbox: { createShowsExDate: false } };

async function eventsOf({ databaseUrl }: TestGateway, { code }: PlacedOrder): Promise<string[]> {
  const history = `SELECT event FROM order_history JOIN orders AS o ON o.id = order_id
    WHERE order_code = $1 ORDER BY order_history.id`;
  return (await runSql<{ event: string }>(databaseUrl, history, [code])).map(({ event }) => event);
}

test("a name whose create was answered without its dates gets them from one look, without a settle time (rows 7, 15)", async (t) => {
  const gateway = await startTestGateway(t, { ...undated, registry: { settleMs: 3_600_000 } });
  const reseller = await gateway.addReseller();
  const order = await place(gateway, reseller, "undated.example");
  await assertEnds(gateway, reseller, order, "Finished");
  assert.deepEqual((await eventsOf(gateway, order)).slice(-2), ["created-undated", "ours"]);
  const answers = "SELECT result_code FROM attempts WHERE command = 'domain:create' AND answered_at IS NOT NULL";
  assert.deepEqual(await runSql(gateway.databaseUrl, answers), [{ result_code: 1000 }]);
});

test("until the registry shows the dates the order is processed, and nothing is created again (rows 7, 16a, 19)", async (t) => {
  const gateway = await startTestGateway(t, undated);
  const reseller = await gateway.addReseller();
  const { domains } = gateway.registry.store;
  const name = "behind.example";
  const hold = gateway.registry.hold({ command: "domain:info", name, at: "before-execution" });
  const order = await place(gateway, reseller, name);
  await hold.reached(1);
  const held = domains.find(name);
  assert.ok(held);
  // The registry's answers come from a copy that is behind.
  domains.delete(name);
  hold.release();
  await until("it was absent twice", async () => (await countEvents(gateway, order, "verify-lost")) >= 2);
  domains.put({ ...held, clID: "rival" });
  await until("it was another registrar's", async () => (await countEvents(gateway, order, "unexplained")) > 0);
  assert.equal(await statusOf(gateway, reseller, order), "Processing");
  const { verify_cause, next } = await operated(gateway, "orders", "show", order.code);
  assert.deepEqual([verify_cause, /asked until when/.test(String(next))], ["created", true]);
  domains.put({ ...held, clID: registrarId });
  await operated(gateway, "orders", "retry", order.code);
  await assertEnds(gateway, reseller, order, "Finished");
  assert.equal(creates(gateway, name).length, 1);
});

test("a cancelled order whose create was answered without dates deletes its name (row 23)", async (t) => {
  const gateway = await startTestGateway(t, undated);
  const reseller = await gateway.addReseller();
  const name = "unwanted.example";
  const hold = gateway.registry.hold({ command: "domain:info", name, at: "before-execution" });
  const order = await place(gateway, reseller, name);
  await hold.reached(1);
  await operated(gateway, "orders", "cancel", order.code);
  hold.release();
  await assertEnds(gateway, reseller, order, "Cancelled");
});

test("an operator settles an order whose dates never come, and the registry must agree (row 26)", async (t) => {
  const gateway = await startTestGateway(t, undated);
  const reseller = await gateway.addReseller();
  const name = "settled.example";
  const hold = gateway.registry.hold({ command: "domain:info", name, at: "before-execution" });
  const order = await place(gateway, reseller, name);
  await hold.reached(1);
  gateway.registry.store.domains.delete(name);
  hold.release();
  await until("it was absent", async () => (await countEvents(gateway, order, "verify-lost")) > 0);
  await operated(gateway, "orders", "settle", order.code, "--as", "failed", "--note", "the registry undid it");
  assert.equal((await gateway.settled(reseller, order.location)).status, "Errors");
  assert.equal(creates(gateway, name).length, 1);
});
