import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { transferFrame } from "../../sandbox/registry/test/frames.ts";
import { RawClient } from "../../sandbox/registry/test/raw-client.ts";
import { runSql } from "../harness/sql.ts";
import { createSteeredClock } from "../harness/steered-clock.ts";
import { until } from "../orders/judge.ts";
import { operated } from "../orders/operate.ts";
import { domain, order, received, type Stage, settledLater, startStage } from "./stage.ts";

const name = "undecided.example";
const target = `/domains/${name}/nameservers`;
const name_servers = ["ns1.dns-host.net", "ns2.dns-host.net"];
const openAlarms = "SELECT subject, note FROM alarms WHERE kind = 'renewal-held' AND resolved_at IS NULL";

/** A stage whose name has a pending order: the registry has not decided about its update. */
async function startPending(t: TestContext, registry = {}) {
  const clock = createSteeredClock();
  const stage = await startStage(t, [name], { clock, registry });
  stage.gateway.registry.setFaults({
    commands: [{ command: "domain:update", as: "pending", decision: "never", times: 1 }],
  });
  const pending = await order(stage, "PUT", target, { name_servers });
  await until("it is pending", async () => (await shown(stage, pending)).status === "Pending");
  return { stage, clock, pending };
}

async function shown({ gateway, reseller }: Stage, location: string): Promise<Record<string, unknown>> {
  return (await gateway.send(reseller, "GET", location)).body as Record<string, unknown>;
}

const codeOf = (location: string) => location.split("/").at(-1) ?? "";

async function renew(stage: Stage): Promise<string> {
  const { expiration_date } = await domain(stage, name);
  return order(stage, "POST", `/domains/${name}/renewals`, { years: 1, expiration_date });
}

test("a name shows that a change of it is pending, and later that it is not any more (row C15)", async (t) => {
  const { stage, pending } = await startPending(t);
  const statuses = async () => (await domain(stage, name)).statuses as string[];
  await until("a look has shown it", async () => (await statuses()).includes("pendingUpdate"));
  await stage.gateway.registry.decide(name, "deny");
  assert.equal((await stage.gateway.settled(stage.reseller, pending)).status, "Errors");
  assert.ok(!(await statuses()).includes("pendingUpdate"));
});

test("a renewal waits for the registry's decision about an update, and an alarm says so until it is taken", async (t) => {
  const { stage, clock, pending } = await startPending(t);
  const { gateway } = stage;
  const renewal = await renew(stage);
  const alarms = () => runSql<{ subject: string; note: string }>(gateway.databaseUrl, openAlarms);
  await until("an operator is called", async () => (await alarms()).length === 1);
  assert.equal((await alarms())[0]!.subject, name);
  assert.match((await alarms())[0]!.note, new RegExp(`waits for ${codeOf(pending)}`));
  assert.equal(received(stage, name, "domain:renew").length, 0, "pendingRenew must not stand beside pendingUpdate");
  await gateway.registry.decide(name, "approve");
  assert.equal((await settledLater(stage, clock, pending)).status, "Finished");
  assert.equal((await settledLater(stage, clock, renewal)).status, "Finished");
  assert.deepEqual(await alarms(), [], "the alarm is resolved");
});

test("an operator who settles the pending order lets the renewal continue, and its alarm is resolved", async (t) => {
  const { stage, clock, pending } = await startPending(t);
  const { gateway } = stage;
  const renewal = await renew(stage);
  const alarms = () => runSql(gateway.databaseUrl, openAlarms);
  await until("an operator is called", async () => (await alarms()).length === 1);
  // The message about the decision is lost.
  await gateway.registry.decide(name, "lose");
  await operated(gateway, "orders", "settle", codeOf(pending), "--as", "done", "--note", "their staff says so");
  assert.equal((await settledLater(stage, clock, pending)).status, "Finished");
  assert.equal((await settledLater(stage, clock, renewal)).status, "Finished");
  assert.deepEqual(await alarms(), []);
});

test("another update waits for the pending one: the registry does not show yet what it will change", async (t) => {
  const { stage, clock, pending } = await startPending(t);
  const next = await order(stage, "PUT", target, { name_servers: [] });
  const looks = `SELECT FROM orders WHERE order_code = '${codeOf(next)}' AND next_step_at > created_at + interval '10 s'`;
  await until("its turn has not come", async () => (await runSql(stage.gateway.databaseUrl, looks)).length === 1);
  assert.equal((await shown(stage, next)).status, "NotProvisioned");
  await stage.gateway.registry.decide(name, "approve");
  assert.equal((await settledLater(stage, clock, pending)).status, "Finished");
  assert.equal((await settledLater(stage, clock, next)).status, "Finished");
  assert.deepEqual((await domain(stage, name)).name_servers, []);
});

test("a transfer is answered although an order about the name is pending: it was decided, or no transfer could be asked for", async (t) => {
  // The message about the decision is lost, and the next look is far away.
  const { stage, pending } = await startPending(t, { reconcileIntervalMs: 600_000 });
  const { gateway, reseller } = stage;
  const gainer = await RawClient.login(gateway.registry, "rival", "rival-pw-1");
  t.after(() => gainer.close());
  await gateway.registry.decide(name, "lose");
  const { authInfo } = gateway.registry.store.domains.find(name)!;
  assert.equal((await gainer.ask(transferFrame("request", name, authInfo))).code, 1001);
  const body = { answer: "reject", reason: "unpaid" };
  const answered = await order(stage, "POST", `/domains/${name}/transfer-out`, body);
  assert.equal((await gateway.settled(reseller, answered)).status, "Finished");
  assert.equal((await shown(stage, pending)).status, "Pending");
});
