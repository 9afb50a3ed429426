/** Several registries at once: names go to the one that serves their suffix, and each works or fails alone. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { raiseAlarm } from "#alarms.ts";
import { circuitSettingsDefault } from "#registry/epp/pool/circuit.ts";
import type { RegistryProfile } from "#registry/registries.ts";
import { startTestGateway, type TestGateway } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { createSteeredClock } from "../harness/steered-clock.ts";
import { assertEnds, creates, place, until } from "./judge.ts";
import { openAlarms } from "./stage.ts";

/** Retries soon, so that a test need not wait long for a registry that is back. */
const circuit = { ...circuitSettingsDefault, probeDelayMsMin: 200, probeDelayMsMax: 1_000 };

async function untilCircuitIsOpen({ databaseUrl }: TestGateway): Promise<void> {
  const open = "SELECT FROM registries WHERE circuit_open_until IS NOT NULL";
  await until("the absence is known", async () => (await runSql(databaseUrl, open)).length > 0);
}

const startWithTwo = (t: TestContext) =>
  startTestGateway(t, {
    moreRegistries: [{ id: "second", suffixes: ["co.second", "second"], profile: { circuit } }],
  });

test("a name goes to the registry of its suffix, the longest one that fits", async (t) => {
  const gateway = await startWithTwo(t);
  const second = secondRegistry(gateway);
  const reseller = await gateway.addReseller();
  const first = await place(gateway, reseller, "mine.example");
  await assertEnds(gateway, reseller, first, "Finished");
  for (const name of ["mine.second", "mine.co.second"]) {
    const order = await place(gateway, reseller, name);
    assert.equal((await gateway.settled(reseller, order.location)).status, "Finished", name);
    assert.equal(second.store.domains.find(name)?.clID, "deedhouse", name);
    assert.deepEqual(creates(gateway, name), [], "the first registry has never heard of it");
  }
  assert.equal(second.store.domains.find("mine.example"), undefined);
});

test("a registry that is down stops its own suffixes, and changes nothing for the others", async (t) => {
  const gateway = await startWithTwo(t);
  const second = secondRegistry(gateway);
  const reseller = await gateway.addReseller();
  second.pause();
  const refused = async () => {
    const reply = await gateway.send(reseller, "POST", "/domains/registrations", { body: { domain_name: "a.second" } });
    assert.ok(
      reply.status === 503 || reply.text.includes("domain_availability_lookuperror"),
      `${reply.status} ${reply.text}`,
    );
    return reply.status === 503;
  };
  await until("the registry counts as down", refused);
  for (let number = 0; number < 10; number++) {
    await assertEnds(gateway, reseller, await place(gateway, reseller, `up-${number}.example`), "Finished");
  }
  assert.equal(await refused(), true, "it is still known to be down");
  second.resume();
  const isUp = async () =>
    (await gateway.send(reseller, "POST", "/domains/registrations", { body: { domain_name: "a.second" } })).status ===
    202;
  await until("the registry is available again", isUp);
  await until("the order is done", () => second.store.domains.find("a.second")?.clID === "deedhouse");
});

test("an order waits for its own registry while those of others are done", async (t) => {
  const gateway = await startWithTwo(t);
  const second = secondRegistry(gateway);
  const reseller = await gateway.addReseller();
  // Placed before the registry went away, and finished after it came back.
  const waiting = await place(gateway, reseller, "slow-1500-wait.second");
  second.pause();
  await assertEnds(gateway, reseller, await place(gateway, reseller, "quick.example"), "Finished");
  second.resume();
  assert.equal((await gateway.settled(reseller, waiting.location)).status, "Finished");
  const executed = second.store.journal.entries({ name: waiting.name, command: "domain:create" });
  assert.equal(executed.filter((entry) => entry.executed).length, 1);
});

test("a registry that stays away is an alarm, until it is back", async (t) => {
  const clock = createSteeredClock();
  // Noticed without any order: the pool keeps a session open.
  const gateway = await startTestGateway(t, { clock, registry: { circuit, pollIntervalMs: 20 } });
  gateway.registry.pause();
  await untilCircuitIsOpen(gateway);
  assert.deepEqual(await openAlarms(gateway), [], "it may be short");
  await until("it is an alarm", async () => {
    clock.skip(0.1);
    return (await openAlarms(gateway)).length > 0;
  });
  assert.match(JSON.stringify(await openAlarms(gateway)), /registry-away.*sandbox/);
  gateway.registry.resume();
  await until("the alarm is over", async () => (await openAlarms(gateway)).length === 0);
});

test("the alarm of a registry that was away ends as soon as it is back", async (t) => {
  // The check for absent registries runs once here, at the start.
  const gateway = await startTestGateway(t, { registry: { circuit, pollIntervalMs: 3_600_000 } });
  gateway.registry.pause();
  await untilCircuitIsOpen(gateway);
  await raiseAlarm(gateway.context, { kind: "registry-away", subject: "sandbox", note: "it is away" });
  gateway.registry.resume();
  await until("the alarm is over", async () => (await openAlarms(gateway)).length === 0);
});

test("a registry that has names here but no profile is an alarm until a process serves it again", async (t) => {
  const gateway = await startWithTwo(t);
  const reseller = await gateway.addReseller();
  const { location } = await place(gateway, reseller, "kept.second");
  assert.equal((await gateway.settled(reseller, location)).status, "Finished");
  await gateway.stopWorker();
  await until(
    "nobody serves it",
    async () =>
      (await runSql(gateway.databaseUrl, "SELECT FROM registry_leases WHERE expires_at > now()")).length === 0,
  );
  const profiles = gateway.context.registries as RegistryProfile[];
  const [second] = profiles.splice(1);
  await gateway.startWorker();
  await until("the alarm is raised", async () => (await openAlarms(gateway)).length > 0);
  assert.deepEqual(await openAlarms(gateway), [{ kind: "registry-away", subject: "second" }]);
  await gateway.stopWorker();
  profiles.push(second!);
  await gateway.startWorker();
  await until("the alarm is over", async () => (await openAlarms(gateway)).length === 0);
});

function secondRegistry(gateway: TestGateway) {
  const registry = gateway.moreRegistries.get("second");
  assert.ok(registry);
  return registry;
}
