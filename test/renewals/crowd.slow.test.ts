/** Many names fall due on one day, at a registry that accepts fifty commands a second. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { runSql } from "../harness/sql.ts";
import { place, until } from "../orders/judge.ts";
import { giveNames, own, startStage } from "./stage.ts";

const namesCount = 500;
const ordersCount = 5;
const sessionsMax = 10;
/** In one queue with the renewals, an order had some 115 of their commands before it. */
const renewalCommandsMax = 50;
const dayMs = 24 * 60 * 60_000;

test("new orders come before the renewals that wait for the registry's sessions", async (t) => {
  const patience = { transformTimeoutMs: 30_000, queryTimeoutMs: 60_000 };
  const stage = await startStage(t, { registry: { ...patience, sessionsMax, commandsPerSecond: 50 } });
  const { gateway, reseller } = stage;
  // Then its contact exists at the registry.
  await own(stage, "earlier.example");
  const expirationDate = new Date(gateway.context.clock.now().getTime() + 20 * dayMs);
  const names = Array.from({ length: namesCount }, (_, index) => `due-${index}.example`);
  // The renewals are held until there are many, however slowly they become due.
  const hold = gateway.registry.hold({ command: "domain:info", at: "before-answer" });
  await giveNames(gateway, reseller, new Map(names.map((name) => [name, { expirationDate }])));
  const atWork = "SELECT FROM renewals WHERE status = 'Processing'";
  await until("renewals wait", async () => (await runSql(gateway.databaseUrl, atWork)).length > 10 * sessionsMax);
  hold.release();
  const renewalCommands: number[] = [];
  for (let number = 0; number < ordersCount; number++) {
    const name = `new-${number}.example`;
    const { location } = await place(gateway, reseller, name);
    assert.equal((await gateway.settled(reseller, location)).status, "Finished");
    const commands = gateway.registry.store.journal.entries({}).filter(({ direction }) => direction === "in");
    const check = commands.findIndex((entry) => entry.name === name && entry.command === "domain:check");
    const create = commands.findIndex((entry) => entry.name === name && entry.command === "domain:create");
    assert.ok(check >= 0 && create > check);
    renewalCommands.push(create - check - 1);
  }
  // At least one of them was delayed by nothing but the queue.
  assert.ok(Math.min(...renewalCommands) < renewalCommandsMax, `renewals' commands before them: ${renewalCommands}`);
});
