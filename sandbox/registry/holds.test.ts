import assert from "node:assert/strict";
import { test } from "node:test";
import type { HoldPoint } from "./holds.ts";
import type { SandboxRegistry } from "./server.ts";
import { checkFrame, createFrame, infoFrame } from "./test/frames.ts";
import { RawClient } from "./test/raw-client.ts";
import { startWithClient } from "./test/setup.ts";

function isHeld(registry: SandboxRegistry, name: string): boolean {
  return registry.store.domains.find(name) !== undefined;
}

const points: [HoldPoint, boolean][] = [
  ["before-execution", false],
  ["before-answer", true],
];

for (const [at, isExecuted] of points) {
  test(`a frame held ${at} is ${isExecuted ? "" : "not "}executed, and answered after its release`, async (context) => {
    const { registry, client } = await startWithClient(context);
    const hold = registry.hold({ command: "domain:create", at });
    client.send(createFrame("a.test"));
    await hold.reached(1);
    assert.equal(hold.waiting(), 1);
    assert.equal(isHeld(registry, "a.test"), isExecuted);
    hold.release({ execute: false });
    assert.equal((await client.answer()).code, 1000, "execute is a choice for dead connections alone");
    assert.equal(isHeld(registry, "a.test"), true);
    assert.equal((await client.ask(createFrame("b.test"))).code, 1000, "a released hold is over");
  });
}

for (const execute of [true, false]) {
  test(`a held frame whose client died is ${execute ? "executed" : "dropped"} as release chooses`, async (context) => {
    const { registry, client } = await startWithClient(context);
    const hold = registry.hold({ command: "domain:create", at: "before-execution" });
    client.send(createFrame("a.test"));
    await hold.reached(1);
    client.close();
    await hold.abandoned(1);
    assert.deepEqual(registry.holds.list()[0]?.frames[0]?.connected, false);
    hold.release({ execute });
    const second = await RawClient.login(registry);
    assert.equal((await second.ask(infoFrame("a.test"))).code, execute ? 1000 : 2303);
    const creates = registry.store.journal.entries({ name: "a.test", command: "domain:create" });
    assert.deepEqual(
      creates.filter(({ direction }) => direction === "in").map(({ executed }) => executed),
      [execute],
    );
    second.close();
  });
}

test("a hold leaves other names, other commands and other connections alone", async (context) => {
  const { registry, client } = await startWithClient(context);
  const hold = registry.hold({ command: "domain:create", name: "a.test", at: "before-execution" });
  const other = await RawClient.login(registry);
  client.send(createFrame("a.test"));
  await hold.reached(1);
  assert.equal((await other.ask(checkFrame("a.test"))).code, 1000);
  assert.equal((await other.ask(createFrame("b.test"))).code, 1000);
  hold.release();
  assert.equal((await client.answer()).code, 1000);
  other.close();
});

test("a hold for the first frame lets the later ones pass", async (context) => {
  const { registry, client } = await startWithClient(context);
  const hold = registry.hold({ command: "domain:create", at: "before-execution", times: 1 });
  const other = await RawClient.login(registry);
  client.send(createFrame("a.test"));
  await hold.reached(1);
  assert.equal((await other.ask(createFrame("a.test"))).code, 1000);
  hold.release();
  assert.equal((await client.answer()).code, 2302);
  other.close();
});

test("a connection that was lost while its frame was held does not count as a session", async (context) => {
  const { registry, client } = await startWithClient(context, { sessionsMax: 1 });
  const hold = registry.hold({ command: "domain:create", at: "before-answer" });
  client.send(createFrame("a.test"));
  await hold.reached(1);
  client.close();
  await hold.abandoned(1);
  (await RawClient.login(registry)).close();
});

test("a reset drops held frames without a trace", async (context) => {
  const { registry, client } = await startWithClient(context);
  const hold = registry.hold({ command: "domain:create", at: "before-execution" });
  client.send(createFrame("a.test"));
  await hold.reached(1);
  await registry.reset();
  assert.deepEqual(registry.holds.list(), []);
  assert.deepEqual(registry.store.journal.entries(), []);
  assert.equal(isHeld(registry, "a.test"), false);
  await assert.rejects(hold.reached(2), /released after 1 frames/);
  await hold.reached(1);
});
