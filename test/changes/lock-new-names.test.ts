import assert from "node:assert/strict";
import { test } from "node:test";
import { runSql } from "../harness/sql.ts";
import { place } from "../orders/judge.ts";
import { change, domain, own, received, startStage } from "./stage.ts";

const name = "fresh.example";
const options = { registry: { lockNewNames: true } };

test("where the profile says so, a name is locked against transfers once it is registered", async (t) => {
  const stage = await startStage(t, [], options);
  const { gateway, reseller } = stage;
  const { code, location } = await place(gateway, reseller, name);
  assert.equal((await gateway.settled(reseller, location)).status, "Finished");
  const lock = await gateway.settled(reseller, `/orders/${code.replace("REG", "CHG")}`);
  assert.equal(lock.kind, "transfer-lock");
  assert.equal(lock.status, "Finished");
  assert.deepEqual(gateway.registry.store.domains.find(name)?.statuses, ["clientTransferProhibited"]);
  assert.equal((await domain(stage, name)).transfer_locked, true);
});

test("what the reseller orders about the lock itself counts more than the profile", async (t) => {
  const stage = await startStage(t, [name], options);
  const { gateway, reseller } = stage;
  const target = `/domains/${name}/transfer-lock`;
  assert.equal((await change(stage, "PUT", target, { transfer_locked: false })).status, "Finished");
  const [placed] = await runSql<{ order_code: string }>(
    gateway.databaseUrl,
    "SELECT order_code FROM orders ORDER BY id LIMIT 1",
  );
  assert.equal((await gateway.settled(reseller, `/orders/${placed!.order_code}`)).status, "Cancelled");
  assert.equal(received(stage, name, "domain:update").length, 0);
});

test("a registration that fails locks nothing, and neither does one under a suffix whose profile says no", async (t) => {
  const suffixes = { id: "open", suffixes: ["open"], profile: { lockNewNames: false } };
  const stage = await startStage(t, [], { registry: { lockNewNames: true }, moreRegistries: [suffixes] });
  const { gateway, reseller } = stage;
  const { location } = await place(gateway, reseller, "code-2308-refused.example");
  assert.equal((await gateway.settled(reseller, location)).status, "FailedValidation");
  await own(stage, "unlocked.open");
  assert.deepEqual(await runSql(gateway.databaseUrl, "SELECT FROM orders"), []);
});

test("registrations that end at the same moment each get their lock", async (t) => {
  const stage = await startStage(t, [], options);
  const { gateway, reseller } = stage;
  const names = Array.from({ length: 12 }, (_, index) => `many-${index}.example`);
  const placed = await Promise.all(names.map((each) => place(gateway, reseller, each)));
  for (const { code, location } of placed) {
    assert.equal((await gateway.settled(reseller, location)).status, "Finished");
    const lock = await gateway.settled(reseller, `/orders/${code.replace("REG", "CHG")}`);
    assert.equal(lock.status, "Finished");
  }
  for (const each of names) assert.equal((await domain(stage, each)).transfer_locked, true, each);
});
