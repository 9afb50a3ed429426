/**
 * A registry whose sessions end, hang or send odd answers: orders finish nevertheless, each with one create, and a POST
 * that cannot be decided says so.
 */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { circuitSettingsDefault } from "#registry/epp/pool/circuit.ts";
import { eppTimeoutsDefault } from "#registry/epp/timeouts.ts";
import type { FaultSettings } from "../../sandbox/registry/faults.ts";
import { styleNames } from "../../sandbox/registry/style.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { assertEnds, creates, place, until } from "./judge.ts";

/** Short, so that faults are noticed and forgotten soon. */
const registry = {
  // The queue is read only for an order: otherwise the number of commands would depend on when it is read.
  pollIntervalMs: 60_000,
  circuit: { ...circuitSettingsDefault, probeDelayMsMin: 100, probeDelayMsMax: 500, refusedDelayMs: 200 },
  timeouts: { ...eppTimeoutsDefault, connectMs: 500, greetingMs: 500, loginMs: 2_000, loginPauseFirstMs: 50 },
};

/** Places orders while the registry misbehaves, some of them one after another so that sessions are used again. */
async function registerUnder(t: TestContext, label: string, faults: Partial<FaultSettings>): Promise<void> {
  const gateway = await startTestGateway(t, { registry });
  const reseller = await gateway.addReseller();
  // Open sessions get the fault too.
  await assertEnds(gateway, reseller, await place(gateway, reseller, `before-${label}.example`), "Finished");
  gateway.registry.setFaults(faults);
  for (let number = 0; number < 6; number++) {
    const order = await placeWhenPossible(gateway, reseller, `${label}-${number}.example`);
    await assertEnds(gateway, reseller, order, "Finished");
    assert.equal(creates(gateway, order.name).filter(({ executed }) => executed).length, 1, order.name);
  }
}

/** When a session ends during the question, the answer is "not now", and the reseller asks again. */
async function placeWhenPossible(...[gateway, reseller, name]: Parameters<typeof place>) {
  let order: Awaited<ReturnType<typeof place>> | undefined;
  await until(`${name} is accepted`, async () => {
    const reply = await gateway.send(reseller, "POST", "/domains/registrations", { body: { domain_name: name } });
    if (reply.status !== 202) {
      const isHonest = reply.status === 503 || reply.text.includes("domain_availability_lookuperror");
      assert.ok(isHonest, `${name}: ${reply.status} ${reply.text}`);
      return false;
    }
    const location = reply.headers.location ?? "";
    order = { name, location, code: location.slice(location.lastIndexOf("/") + 1) };
    return true;
  });
  assert.ok(order);
  return order;
}

for (const style of styleNames) {
  test(`names are registered at a registry that writes its answers ${style}`, (t) =>
    registerUnder(t, style, { styles: [style] }));
}

for (const code of [2002, 2200, 2202] as const) {
  test(`a session that was logged out silently, and answers ${code}, is replaced`, (t) =>
    registerUnder(t, `logout-${code}`, { logout: { afterCommands: 3, code } }));
}

test("a session that ends after some commands (2500) costs no order", (t) =>
  registerUnder(t, "commands", { commandsMax: 4 }));

test("fewer sessions than agreed (2502) slow orders down, but stop none", (t) =>
  registerUnder(t, "sessions", { sessionsMax: 1 }));

test("sessions that the registry ends after a while, with an answer or without, are replaced", async (t) => {
  await registerUnder(t, "idle", { idleMs: 300, endNoticeCode: 1500 });
  await registerUnder(t, "age", { ageMs: 300 });
});

test("no clTRID is ever sent twice", (t) => registerUnder(t, "trids", { uniqueClTRIDs: true }));

for (const as of ["reset", "hang-accept", "hang-tls", "hang-greeting", "refuse-2500", "refuse-2502"] as const) {
  test(`a registry that takes no new session (${as}) is unavailable, until it does`, async (t) => {
    const gateway = await startTestGateway(t, { registry });
    const reseller = await gateway.addReseller();
    gateway.registry.setFaults({ connect: { as } });
    gateway.registry.closeSessions();
    const reply = await gateway.send(reseller, "POST", "/domains/registrations", {
      body: { domain_name: "no.example" },
    });
    const isHonest = reply.status === 503 || reply.text.includes("domain_availability_lookuperror");
    assert.ok(isHonest, `${reply.status} ${reply.text}`);
    gateway.registry.setFaults({ connect: null });
    await assertEnds(gateway, reseller, await placeWhenPossible(gateway, reseller, "yes.example"), "Finished");
  });
}
