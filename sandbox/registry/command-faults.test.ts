import assert from "node:assert/strict";
import { test } from "node:test";
import type { CommandFault } from "./faults.ts";
import type { SandboxRegistry } from "./server.ts";
import {
  contactCreateFrame,
  contactUpdateFrame,
  contactUri,
  createFrame,
  deleteFrame,
  domainUri,
  hostFrame,
  hostUri,
  infoFrame,
  pollFrame,
  renewFrame,
  restoreFrame,
  rgpUri,
  transferFrame,
  updateFrame,
} from "./test/frames.ts";
import { RawClient } from "./test/raw-client.ts";
import { startWithClient } from "./test/setup.ts";

const now = () => new Date("2028-03-01T10:00:00.000Z");
const dayMs = 24 * 60 * 60_000;
const all = { objects: [domainUri, contactUri, hostUri], extension: [rgpUri] };
const email = "<contact:chg><contact:email>new@example.test</contact:email></contact:chg>";
const lock = '<domain:add><domain:status s="clientTransferProhibited"/></domain:add>';
const address = '<host:add><host:addr ip="v4">192.0.2.2</host:addr></host:add>';

/** A registry with names, a host and a contact to try every command on. */
async function startWithObjects(context: Parameters<typeof startWithClient>[0]) {
  const { registry, client } = await startWithClient(context, { now, restoreReport: false }, all);
  for (const name of ["a.test", "gone.test", "leaving.test"]) await client.ask(createFrame(name));
  await client.ask(hostFrame("create", "ns1.a.test", '<host:addr ip="v4">192.0.2.1</host:addr>'));
  await registry.advance(10 * dayMs);
  await client.ask(deleteFrame("gone.test"));
  const other = await RawClient.login(registry, "gate-two", "secret-2", all);
  context.after(() => other.close());
  await other.ask(transferFrame("request", "leaving.test", "auth-1"));
  return { registry, client };
}

const frames: Readonly<Record<string, string>> = {
  "contact:create": contactCreateFrame("reg-2"),
  "contact:update": contactUpdateFrame("reg-1", email),
  "host:create": hostFrame("create", "ns.elsewhere.example"),
  "host:update": hostFrame("update", "ns1.a.test", address),
  "domain:update": updateFrame("a.test", lock),
  "domain:renew": renewFrame("a.test", "2029-03-01"),
  "domain:restore": restoreFrame("gone.test"),
  "domain:transfer-reject": transferFrame("reject", "leaving.test"),
  "domain:delete": deleteFrame("other.test"),
  "poll:req": pollFrame,
};

function executed(registry: SandboxRegistry): number {
  return registry.store.journal.entries({ executed: true }).length;
}

/** Sends the frame. @returns the code of its answer, "dead" if the connection dies, "strange" for another answer */
async function codeOf(client: RawClient, frame: string): Promise<number | "dead" | "strange"> {
  client.send(frame);
  const answer = await client.receive();
  if (answer === undefined) return "dead";
  const isOdd = answer.includes("SBX-NEVER-SENT") || !answer.includes("</epp>");
  return isOdd ? "strange" : Number(/<result code="(\d{4})"/.exec(answer)?.[1]);
}

for (const [command, frame] of Object.entries(frames)) {
  test(`spoils, loses and refuses ${command} as often as asked, and no other command`, async (context) => {
    const { registry, client } = await startWithObjects(context);
    if (command === "domain:delete") await client.ask(createFrame("other.test"));
    const faults: [Omit<CommandFault, "command">, number | "dead" | "strange"][] = [
      [{ as: "refuse", code: 2400, times: 2 }, 2400],
      [{ as: "refuse", code: 2400 }, 2400],
      [{ as: "drop-before", times: 1 }, "dead"],
    ];
    for (const [fault, result] of faults) {
      registry.setFaults({ commands: [{ command, ...fault }] });
      const before = executed(registry);
      const login = await RawClient.login(registry, "gate-one", "secret-1", all);
      assert.equal(await codeOf(login, infoFrame("free.test")), 2303);
      assert.equal(await codeOf(login, frame), result);
      assert.equal(executed(registry), before, "a refused or lost command is not executed");
      login.close();
    }
    registry.setFaults({ commands: [{ command, as: "trid", times: 1 }] });
    assert.equal(await codeOf(client, frame), "strange");
    assert.deepEqual(registry.faults.current.commands, [], "it happened as often as asked");
  });
}

test("executes a command whose answer is lost, not XML, cut off or late", async (context) => {
  const { registry, client } = await startWithObjects(context);
  const cases: [CommandFault["as"], string, string, number | "dead" | "strange"][] = [
    ["late", "host:update", hostFrame("update", "ns1.a.test", address), 1000],
    ["garbage", "contact:create", contactCreateFrame("reg-2"), "strange"],
    ["drop-after", "host:create", hostFrame("create", "ns.elsewhere.example"), "dead"],
  ];
  for (const [as, command, frame, result] of cases) {
    registry.setFaults({ commands: [{ command, as, times: 1, ...(as === "late" && { delayMs: 1 }) }] });
    assert.equal(await codeOf(client, frame), result, as);
    assert.equal(registry.store.journal.entries({ command, executed: true }).at(-1)?.code, 1000);
  }
  assert.ok(registry.store.hosts.find("ns.elsewhere.example"));
  assert.ok(registry.store.contacts.find("reg-2"));
});

test("applies a fault to the given object only, and to a restore by its own name", async (context) => {
  const { registry, client } = await startWithObjects(context);
  registry.setFaults({
    commands: [
      { command: "domain:update", as: "refuse", code: 2304 },
      { command: "contact:update", name: "reg-9", as: "refuse", code: 2201 },
      { command: "host:update", name: "ns1.a.test", as: "refuse", code: 2306 },
    ],
  });
  assert.equal(await codeOf(client, frames["contact:update"]!), 1000);
  assert.equal(await codeOf(client, frames["host:update"]!), 2306);
  assert.equal(await codeOf(client, updateFrame("a.test", lock)), 2304);
  assert.equal(await codeOf(client, restoreFrame("gone.test")), 1000);
});

test("comes before the label of the name, and a reset ends it", async (context) => {
  const { registry, client } = await startWithClient(context);
  registry.setFaults({ commands: [{ command: "domain:create", as: "refuse", code: 2400 }] });
  assert.equal(await codeOf(client, createFrame("code-2306-a.test")), 2400);
  registry.setFaults({ commands: [] });
  assert.equal(await codeOf(client, createFrame("code-2306-a.test")), 2306);
  registry.setFaults({ commands: [{ command: "domain:create", as: "refuse", code: 2400 }] });
  await registry.reset();
  assert.deepEqual(registry.faults.current.commands, []);
});

test("holds a restore by its own name, not as an update", async (context) => {
  const { registry, client } = await startWithObjects(context);
  const updates = registry.hold({ command: "domain:update", at: "before-execution" });
  const restores = registry.hold({ command: "domain:restore-request", at: "before-execution" });
  client.send(restoreFrame("gone.test"));
  await restores.reached(1);
  assert.equal(updates.waiting(), 0);
  restores.release();
  assert.equal((await client.answer()).code, 1000);
});

test("names the mistake in a fault of a command", async (context) => {
  const { registry } = await startWithClient(context);
  const cases: [object, RegExp][] = [
    [{ command: "domain:frobnicate", as: "late" }, /commands\.0\.command must be one of/],
    [{ command: "domain:renew", as: "refuse" }, /refuse needs a code/],
    [{ command: "domain:renew", as: "refuse", code: 1000 }, /refuse needs a code/],
    [{ command: "domain:renew", as: "late", code: 2400 }, /code belongs to "refuse"/],
    [{ command: "domain:renew", as: "refuse", code: 2400, decision: "deny" }, /decision belongs to "pending"/],
    [{ command: "domain:delete", as: "pending" }, /domain:delete cannot be pending; these can: domain:create/],
    [{ command: "domain:renew", as: "late", times: 0 }, /times must be >= 1/],
  ];
  for (const [fault, sentence] of cases) {
    assert.throws(() => registry.setFaults({ commands: [fault as CommandFault] }), sentence);
  }
});
