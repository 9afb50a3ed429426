/** A clock that was set forward and back leaves times that are later than any wait allows. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { RegistryProfile } from "#registry/registries.ts";
import type { Scope } from "../harness/database.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { createSteeredClock } from "../harness/steered-clock.ts";
import { assertEnds, creates, place, until } from "./judge.ts";

const aheadHours = 3;

/** An order that began to wait in this phase while the clock was ahead. The clock is right again. */
async function placeAhead(t: Scope, name: string, phase: string, registry: Partial<RegistryProfile>) {
  const clock = createSteeredClock();
  const gateway = await startTestGateway(t, { clock, registry });
  const reseller = await gateway.addReseller();
  clock.skip(aheadHours);
  const order = await place(gateway, reseller, name);
  const waits = `SELECT FROM orders WHERE order_code = $1 AND phase = $2 AND next_step_at > $3`;
  const values = [order.code, phase, clock.now()];
  await until("it waits", async () => (await runSql(gateway.databaseUrl, waits, values)).length === 1);
  clock.skip(-aheadHours);
  return { gateway, reseller, order };
}

test("an order that waits for hours because a clock jumped continues at once", async (t) => {
  const backoff = { backoffFirstMs: 3_000, backoffMaxMs: 3_000 };
  const { gateway, reseller, order } = await placeAhead(t, "once-2502-jumped.example", "waiting", backoff);
  await assertEnds(gateway, reseller, order, "Finished");
});

test("an order whose create is unanswered waits for the settle time again, and is not created twice", async (t) => {
  const settle = { settleMs: 3_000 };
  const { gateway, reseller, order } = await placeAhead(t, "drop-after-jumped.example", "verify", settle);
  const soon = `SELECT FROM orders WHERE order_code = $1
    AND (next_step_at IS NULL OR next_step_at < now() + interval '1 hour')`;
  await until("its time is bounded", async () => (await runSql(gateway.databaseUrl, soon, [order.code])).length === 1);
  await assertEnds(gateway, reseller, order, "Finished");
  assert.equal(creates(gateway, order.name).length, 1);
});
