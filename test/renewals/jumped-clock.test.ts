import { test } from "node:test";
import { runSql } from "../harness/sql.ts";
import { until } from "../orders/judge.ts";
import { own, startStage, untilRenewalIs } from "./stage.ts";

const aheadHours = 3;

test("a renewal that waits for hours because a clock jumped continues at once", async (t) => {
  const stage = await startStage(t, { registry: { backoffFirstMs: 3_000, backoffMaxMs: 3_000 } });
  const { gateway, clock } = stage;
  const name = "renew-once-2400-jumped.example";
  await own(stage, name);
  clock.skip(aheadHours);
  await stage.travelTo(name, 29);
  const waits = `SELECT FROM orders
    WHERE domain_name = $1 AND kind = 'renew' AND status = 'Processing' AND backoff_count > 0 AND next_step_at > $2`;
  const values = [name, clock.now()];
  await until("it waits", async () => (await runSql(gateway.databaseUrl, waits, values)).length === 1);
  clock.skip(-aheadHours);
  await untilRenewalIs(gateway, name, "Renewed");
});
