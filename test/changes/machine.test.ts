import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { runSql } from "../harness/sql.ts";
import { createSteeredClock } from "../harness/steered-clock.ts";
import { until } from "../orders/judge.ts";
import { change, domain, order, own, received, settledLater, startStage, steeredRegistry } from "./stage.ts";

const name = "managed.example";
const target = `/domains/${name}/transfer-lock`;
const locked = { transfer_locked: true };

async function startWithLostUpdate(t: TestContext) {
  const clock = createSteeredClock();
  const stage = await startStage(t, [name], { clock, registry: steeredRegistry });
  const hold = stage.gateway.registry.holds.place({ command: "domain:update", name, at: "before-execution", times: 1 });
  const location = await order(stage, "PUT", target, locked);
  await hold.abandoned(1);
  return { stage, clock, hold, location };
}

test("a command whose answer is lost, but which was executed, is not sent again (rows C11, C14)", async (t) => {
  const { stage, clock, hold, location } = await startWithLostUpdate(t);
  hold.release({ execute: true });
  assert.equal((await settledLater(stage, clock, location)).status, "Finished");
  assert.equal(received(stage, name, "domain:update").length, 1);
  assert.equal((await domain(stage, name)).transfer_locked, true);
});

test("a command that was lost on its way is sent again once its settle time is over (rows C11, C14)", async (t) => {
  const { stage, clock, hold, location } = await startWithLostUpdate(t);
  hold.release({ execute: false });
  assert.equal((await settledLater(stage, clock, location)).status, "Finished");
  assert.equal(received(stage, name, "domain:update").filter(({ executed }) => executed).length, 1);
  assert.equal(received(stage, name, "domain:update").length, 2);
});

test("nothing is sent for a name while an earlier command may still be executed", async (t) => {
  const { stage, clock, hold, location } = await startWithLostUpdate(t);
  const next = await order(stage, "PUT", target, { transfer_locked: false });
  const untouched = "other.example";
  await own(stage, untouched);
  assert.equal((await change(stage, "PUT", `/domains/${untouched}/transfer-lock`, locked)).status, "Finished");
  assert.equal(received(stage, name, "domain:update").length, 0, "the next order of the name waits for the held one");
  hold.release({ execute: true });
  assert.equal((await settledLater(stage, clock, location)).status, "Finished");
  assert.equal((await settledLater(stage, clock, next)).status, "Finished");
  assert.equal((await domain(stage, name)).transfer_locked, false);
});

test("a newer order replaces one of its kind that was not sent, and no other (row C2)", async (t) => {
  const { stage, clock, hold, location } = await startWithLostUpdate(t);
  const replaced = await order(stage, "PUT", target, { transfer_locked: false });
  const last = await order(stage, "PUT", target, { transfer_locked: true });
  const ended = await stage.gateway.settled(stage.reseller, replaced);
  assert.equal(ended.status, "Cancelled");
  assert.match(String(ended.error_text), /^superseded by CHG-/);
  hold.release({ execute: true });
  for (const lives of [location, last]) {
    assert.equal((await settledLater(stage, clock, lives)).status, "Finished");
  }
  assert.equal(received(stage, name, "domain:update").length, 1);
});

test("a status that forbids the change ends the order, and the reason names it (row C5)", async (t) => {
  const stage = await startStage(t, [name]);
  const { store } = stage.gateway.registry;
  store.domains.put({ ...store.domains.find(name)!, statuses: ["serverUpdateProhibited"] });
  const ended = await change(stage, "PUT", target, locked);
  assert.equal(ended.status, "Errors");
  assert.match(String(ended.error_text), /2304.*serverUpdateProhibited/);
  assert.deepEqual(
    (await domain(stage, name)).statuses,
    ["serverUpdateProhibited", "inactive"],
    "the domain shows it, too",
  );
});

test("an order about a name that is gone fails, and sends nothing (row C5)", async (t) => {
  const stage = await startStage(t, [name]);
  stage.gateway.registry.store.domains.delete(name);
  const ended = await change(stage, "PUT", target, locked);
  assert.equal(ended.status, "Errors");
  assert.match(String(ended.error_text), /no longer holds the name/);
  assert.equal(received(stage, name, "domain:update").length, 0);
});

test("while the registry is away an order waits, and goes on when it is back (row C6)", async (t) => {
  const stage = await startStage(t, [name], { registry: { backoffFirstMs: 50 } });
  stage.gateway.registry.pause();
  const location = await order(stage, "PUT", target, locked);
  const failed = "SELECT FROM orders WHERE backoff_count > 0";
  await until("a step has failed", async () => (await runSql(stage.gateway.databaseUrl, failed)).length > 0);
  stage.gateway.registry.resume();
  assert.equal((await stage.gateway.settled(stage.reseller, location)).status, "Finished");
});
