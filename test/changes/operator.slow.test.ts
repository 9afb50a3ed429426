import assert from "node:assert/strict";
import { test } from "node:test";
import { runSql } from "../harness/sql.ts";
import { createSteeredClock } from "../harness/steered-clock.ts";
import { until } from "../orders/judge.ts";
import { assertRefused, operate, operated } from "../orders/operate.ts";
import { domain, order, received, settledLater, startStage, steeredRegistry } from "./stage.ts";

const name = "managed.example";
const target = `/domains/${name}/transfer-lock`;
const codeOf = (location: string) => location.slice(location.lastIndexOf("/") + 1);

test("an operator sees an order, what it sent and what happens next", async (t) => {
  const { gateway, reseller, ...stage } = await startStage(t, [name]);
  const location = await order({ gateway, reseller, ...stage }, "PUT", target, { transfer_locked: true });
  await gateway.settled(reseller, location);
  const shown = await operated<{ status: string; kind: string; attempts: { command: string; result_code: number }[] }>(
    gateway,
    "orders",
    "show",
    codeOf(location),
  );
  assert.equal(shown.kind, "transfer-lock");
  assert.deepEqual(
    shown.attempts.map(({ command, result_code }) => [command, result_code]),
    [["domain:update", 1000]],
  );
  const listed = await operated<{ order_code: string; kind: string }[]>(gateway, "orders", "list");
  assert.deepEqual(
    listed.map(({ kind }) => kind),
    ["transfer-lock", "create"],
  );
});

test("an operator cancels an order of which nothing was sent, and no other (row C2)", async (t) => {
  const clock = createSteeredClock();
  const stage = await startStage(t, [name], { clock, registry: steeredRegistry });
  const { gateway, reseller } = stage;
  gateway.registry.pause();
  const waiting = await order(stage, "PUT", target, { transfer_locked: true });
  const failed = "SELECT FROM orders WHERE backoff_count > 0";
  await until("a step has failed", async () => (await runSql(gateway.databaseUrl, failed)).length > 0);
  await operated(gateway, "orders", "cancel", codeOf(waiting));
  assert.equal((await gateway.settled(reseller, waiting)).status, "Cancelled");
  gateway.registry.resume();
  const hold = gateway.registry.holds.place({ command: "domain:update", name, at: "before-execution", times: 1 });
  const sent = await order(stage, "PUT", target, { transfer_locked: true });
  await hold.abandoned(1);
  await assertRefused(gateway, ["orders", "cancel", codeOf(sent)], 3, /may be carrying the order out/);
  hold.release({ execute: true });
  assert.equal((await settledLater(stage, clock, sent)).status, "Finished");
  assert.equal(received(stage, name, "domain:update").length, 1);
});

test("an operator settles an order that the registry never shows as done, unless it does (row C16)", async (t) => {
  const stage = await startStage(t, [name], { registry: { backoffFirstMs: 50 } });
  const { gateway, reseller } = stage;
  const { store } = gateway.registry;
  // The registry reports success, and somebody there undoes the change at once.
  store.domains.watch((row) => {
    if (row.name !== name || !row.statuses.includes("clientTransferProhibited")) return;
    queueMicrotask(() => store.domains.put({ ...row, statuses: [] }));
  });
  const location = await order(stage, "PUT", target, { transfer_locked: true });
  const unseen = "SELECT FROM order_history WHERE event = 'not-seen'";
  await until("it is not shown", async () => (await runSql(gateway.databaseUrl, unseen)).length > 0);
  const settled = await operate(gateway, "orders", "settle", codeOf(location), "--as", "failed", "--note", "undone");
  assert.equal(settled.code, 0, settled.stderr);
  const ended = await gateway.settled(reseller, location);
  assert.deepEqual([ended.status, ended.error_text], ["Errors", "undone"]);
  assert.equal((await domain(stage, name)).transfer_locked, false);
});
