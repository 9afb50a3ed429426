import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createSteeredClock } from "../harness/steered-clock.ts";
import { change, domain, order, received, type Stage, settledLater, startStage, steeredRegistry } from "./stage.ts";

// Lost answers and killed workers between the commands of one order.

const name = "brand.example";
const target = `/domains/${name}/nameservers`;
const host = `ns1.${name}`;
const servers = [{ name: host, addresses: ["9.9.9.9"] }, { name: "ns2.dns-host.net" }];
/** A lost answer is noticed soon. */
const quick = { registry: { transformTimeoutMs: 400, settleMs: 800, takeoverSettleMs: 0, backoffFirstMs: 50 } };

async function assertSet(stage: Stage, location: string): Promise<void> {
  assert.equal((await stage.gateway.settled(stage.reseller, location)).status, "Finished");
  const { store } = stage.gateway.registry;
  assert.deepEqual(
    store.domains
      .find(name)
      ?.delegation?.servers.map((server) => server.name)
      .toSorted(),
    [host, "ns2.dns-host.net"],
  );
  const shown = (await domain(stage, name)).name_servers as { name: string }[];
  assert.deepEqual(
    shown.toSorted((one, other) => one.name.localeCompare(other.name)),
    servers,
  );
}

const executed = (stage: Stage, of: string, command: string) =>
  received(stage, of, command).filter((frame) => frame.executed).length;

for (const execute of [true, false]) {
  const fate = execute ? "was executed" : "was lost on its way";
  test(`a host whose create ${fate} unanswered is made once, and the name delegates to it (rows 11, 14)`, async (t) => {
    const stage = await startStage(t, [name], quick);
    const { holds } = stage.gateway.registry;
    const hold = holds.place({ command: "host:create", name: host, at: "before-execution", times: 1 });
    const location = await order(stage, "PUT", target, { name_servers: servers });
    await hold.abandoned(1);
    assert.equal(received(stage, name, "domain:update").length, 0);
    hold.release({ execute });
    await assertSet(stage, location);
    assert.equal(executed(stage, host, "host:create"), 1);
    assert.equal(executed(stage, name, "domain:update"), 1);
  });

  test(`a host's new addresses are set once although the update ${fate} unanswered`, async (t) => {
    const stage = await startStage(t, [name], quick);
    await change(stage, "PUT", target, { name_servers: [{ name: host, addresses: ["1.1.1.1"] }, servers[1]] });
    const { holds, store } = stage.gateway.registry;
    const hold = holds.place({ command: "host:update", name: host, at: "before-execution", times: 1 });
    const location = await order(stage, "PUT", target, { name_servers: servers });
    await hold.abandoned(1);
    hold.release({ execute });
    await assertSet(stage, location);
    assert.equal(executed(stage, host, "host:update"), 1);
    assert.deepEqual(store.hosts.find(host)?.addresses, [{ version: "v4", address: "9.9.9.9" }]);
  });

  test(`an update of the name that ${fate} unanswered is sent no more often than it must be`, async (t) => {
    const stage = await startStage(t, [name], quick);
    const { holds } = stage.gateway.registry;
    const hold = holds.place({ command: "domain:update", name, at: "before-execution", times: 1 });
    const location = await order(stage, "PUT", target, { name_servers: servers });
    await hold.abandoned(1);
    hold.release({ execute });
    await assertSet(stage, location);
    assert.equal(executed(stage, name, "domain:update"), 1);
    assert.equal(received(stage, name, "domain:update").length, execute ? 1 : 2);
  });
}

/** Ends the worker while a command is held, and decides about the command only then. */
async function killAt(t: TestContext, command: string, of: string, execute: boolean) {
  const stage = await startStage(t, [name], quick);
  const hold = stage.gateway.registry.holds.place({ command, name: of, at: "before-execution", times: 1 });
  const location = await order(stage, "PUT", target, { name_servers: servers });
  await hold.reached(1);
  await stage.gateway.stopWorker();
  hold.release({ execute });
  await stage.gateway.startWorker();
  return { stage, location };
}

for (const execute of [true, false]) {
  const fate = execute ? "executed" : "not executed";
  for (const [command, of] of [
    ["host:create", host],
    ["host:create", "ns2.dns-host.net"],
    ["domain:update", name],
  ] as const) {
    test(`a worker that ends during the ${command} of ${of}, which is ${fate}: its successor finishes the order`, async (t) => {
      const { stage, location } = await killAt(t, command, of, execute);
      await assertSet(stage, location);
      assert.equal(executed(stage, of, command), 1);
    });
  }
}

test("while a command about a host may still be executed, another name's order does not change that host", async (t) => {
  const other = "customer.example";
  const clock = createSteeredClock();
  const stage = await startStage(t, [name, other], { clock, registry: steeredRegistry });
  await settledLater(stage, clock, await order(stage, "PUT", target, { name_servers: servers }));
  const { holds } = stage.gateway.registry;
  const hold = holds.place({ command: "host:update", name: host, at: "before-execution", times: 1 });
  const first = await order(stage, "PUT", target, { name_servers: [{ name: host, addresses: ["1.1.1.1"] }] });
  await hold.reached(1);
  const second = await order(stage, "PUT", `/domains/${other}/nameservers`, {
    name_servers: [{ name: host, addresses: ["8.8.8.8"] }],
  });
  await hold.abandoned(1);
  assert.equal(received(stage, host, "host:update").length, 0, "the held frame is not counted, and no other was sent");
  hold.release({ execute: true });
  for (const location of [first, second]) {
    assert.equal((await settledLater(stage, clock, location)).status, "Finished");
  }
  const [executed] = received(stage, host, "host:update");
  const code = first.slice(first.lastIndexOf("/") + 1);
  assert.ok(executed?.clTRID?.startsWith(code), "the command of the first order comes first");
});
