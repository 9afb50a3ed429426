import assert from "node:assert/strict";
import { test } from "node:test";
import { startTestGateway } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { assertEnds, creates, place } from "./judge.ts";

const cases = [
  {
    rule: "a free name costs one check and one create",
    checkFreshMs: 60_000,
    asked: 1,
  },
  { rule: "an answer of the registry that may not be kept costs a second check", checkFreshMs: 0, asked: 2 },
];

for (const { rule, checkFreshMs, asked } of cases) {
  test(rule, async (t) => {
    const gateway = await startTestGateway(t, { context: { checkFreshMs } });
    const reseller = await gateway.addReseller();
    // The reseller's first order creates its contact.
    await assertEnds(gateway, reseller, await place(gateway, reseller, "first.example"), "Finished");
    const order = await place(gateway, reseller, "second.example");
    await assertEnds(gateway, reseller, order, "Finished");
    const checks = gateway.registry.store.journal.entries({ name: order.name, command: "domain:check" });
    assert.equal(checks.filter(({ direction }) => direction === "in").length, asked);
    assert.equal(creates(gateway, order.name).length, 1);
    const history = await runSql<{ event: string }>(
      gateway.databaseUrl,
      `SELECT event FROM order_history JOIN orders AS o ON o.id = order_id
       WHERE o.order_code = '${order.code}' ORDER BY order_history.id`,
    );
    const events = history.map(({ event }) => event);
    assert.deepEqual(events, ["requested", "started", "done"]);
  });
}
