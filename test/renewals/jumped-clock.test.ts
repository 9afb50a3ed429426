import { test } from "node:test";
import { runSql } from "../harness/sql.ts";
import { until } from "../orders/judge.ts";
import { own, startStage, untilRenewalIs } from "./stage.ts";

test("a renewal that waits for hours because a clock jumped continues at once", async (t) => {
  const stage = await startStage(t, { registry: { backoffFirstMs: 3_000, backoffMaxMs: 3_000 } });
  const { gateway } = stage;
  const name = "renew-once-2400-jumped.example";
  await own(stage, name);
  await stage.travelTo(name, 29);
  const move = `UPDATE renewals SET next_step_at = next_step_at + interval '3 hours'
    WHERE domain_name = $1 AND status = 'Processing' AND backoff_count > 0 RETURNING id`;
  await until("it waits", async () => (await runSql(gateway.databaseUrl, move, [name])).length === 1);
  await untilRenewalIs(gateway, name, "Renewed");
});
