/** A clock that was set forward and back leaves times that are later than any wait allows. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { startTestGateway, type TestGateway } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { assertEnds, creates, place, until } from "./judge.ts";

/** Moves the order's next step three hours ahead, once it waits. */
async function putOff({ databaseUrl }: TestGateway, code: string, phase: string): Promise<void> {
  const move = `UPDATE registration_orders SET next_step_at = next_step_at + interval '3 hours'
    WHERE order_code = $1 AND phase = $2 AND next_step_at > now() RETURNING id`;
  await until("it waits", async () => (await runSql(databaseUrl, move, [code, phase])).length === 1);
}

test("an order that waits for hours because a clock jumped continues at once", async (t) => {
  const gateway = await startTestGateway(t, { registry: { backoffFirstMs: 3_000, backoffMaxMs: 3_000 } });
  const reseller = await gateway.addReseller();
  const order = await place(gateway, reseller, "once-2502-jumped.example");
  await putOff(gateway, order.code, "waiting");
  await assertEnds(gateway, reseller, order, "Finished");
});

test("an order whose create is unanswered waits for the settle time again, and is not created twice", async (t) => {
  const gateway = await startTestGateway(t, { registry: { settleMs: 1_500 } });
  const reseller = await gateway.addReseller();
  const order = await place(gateway, reseller, "drop-after-jumped.example");
  await putOff(gateway, order.code, "verify");
  const soon = `SELECT FROM registration_orders WHERE order_code = $1 AND next_step_at < now() + interval '1 hour'`;
  await until("its time is bounded", async () => (await runSql(gateway.databaseUrl, soon, [order.code])).length === 1);
  await assertEnds(gateway, reseller, order, "Finished");
  assert.equal(creates(gateway, order.name).length, 1);
});
