/** Many names fall due on one day, at a registry that takes few commands. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { runSql } from "../harness/sql.ts";
import { place, until } from "../orders/judge.ts";
import { giveNames, own, startStage } from "./stage.ts";

const namesCount = 150;
const dayMs = 24 * 60 * 60_000;

test("a new order goes before the renewals that wait for the registry's sessions", async (t) => {
  const stage = await startStage(t, { registry: { commandsPerSecond: 5 } });
  const { gateway, reseller } = stage;
  // Its registrant is at the registry then.
  await own(stage, "earlier.example");
  const expirationDate = new Date(gateway.context.clock.now().getTime() + 20 * dayMs);
  const names = Array.from({ length: namesCount }, (_, index) => `due-${index}.example`);
  await giveNames(gateway, reseller, new Map(names.map((name) => [name, { expirationDate }])));
  const atWork = "SELECT FROM graphile_worker.jobs WHERE key LIKE 'renewal:%' AND locked_at IS NOT NULL";
  await until("renewals wait", async () => (await runSql(gateway.databaseUrl, atWork)).length > 40);
  const { location } = await place(gateway, reseller, "new.example");
  assert.equal((await gateway.settled(reseller, location)).status, "Finished");
  const events = `SELECT event FROM order_history JOIN registration_orders AS o ON o.id = order_id
    WHERE domain_name = 'new.example' ORDER BY order_history.id`;
  assert.deepEqual(
    (await runSql<{ event: string }>(gateway.databaseUrl, events)).map(({ event }) => event),
    ["requested", "claimed", "available", "created"],
  );
  const live = "SELECT FROM renewals WHERE ended_at IS NULL";
  assert.notDeepEqual(await runSql(gateway.databaseUrl, live), [], "renewals still wait");
});
