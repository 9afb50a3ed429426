/** A renewal is made due at the moment in which it writes that it waits. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { runRenewal } from "#domains/schedule/report.ts";
import { runSql } from "../harness/sql.ts";
import { until } from "../orders/judge.ts";
import { commands, own, startStage, untilRenewalIs } from "./stage.ts";

const hourMs = 3_600_000;
const longMs = { backoffFirstMs: hourMs, backoffMaxMs: hourMs, reconcileIntervalMs: hourMs };

test("a renewal that is run while its renew is refused continues at once, and the answer is kept", async (t) => {
  const stage = await startStage(t, { registry: { ...longMs, queryTimeoutMs: 30_000, transformTimeoutMs: 30_000 } });
  const { gateway } = stage;
  const name = "renew-code-2104-x.example";
  await own(stage, name);
  await stage.travelTo(name, 29);
  const answered = "SELECT result_code FROM attempts WHERE order_id IS NOT NULL AND answered_at IS NOT NULL";
  const refused = (count: number) =>
    until(`it is refused ${count} times`, async () => (await runSql(gateway.databaseUrl, answered)).length === count);
  await refused(1);
  const hold = gateway.registry.hold({ command: "domain:renew", name, at: "before-answer", times: 1 });
  await runRenewal(gateway.context, name);
  await hold.reached(1);
  await runRenewal(gateway.context, name);
  hold.release();
  await refused(3);
  assert.equal(commands(gateway, name, "domain:renew").length, 3);
});

test("a renewal that is run while it looks, and gets no answer, looks again at once", async (t) => {
  const stage = await startStage(t, { registry: { ...longMs, queryTimeoutMs: 30_000 } });
  const { gateway } = stage;
  const name = "unsaid.example";
  await own(stage, name);
  await stage.travelTo(name, 31);
  await untilRenewalIs(gateway, name, "Scheduled");
  const hold = gateway.registry.hold({ command: "domain:info", name, at: "before-answer", times: 1 });
  await runRenewal(gateway.context, name);
  await hold.reached(1);
  await runRenewal(gateway.context, name);
  gateway.registry.closeSessions();
  hold.release();
  await untilRenewalIs(gateway, name, "Renewed");
});
