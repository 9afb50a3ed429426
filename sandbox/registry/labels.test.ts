import assert from "node:assert/strict";
import { test } from "node:test";
import { effectOf, noEffect } from "./labels.ts";
import type { SandboxRegistry } from "./server.ts";
import { defaultSettings } from "./settings.ts";
import { ackFrame, checkFrame, createFrame, deleteFrame, infoFrame, pollFrame, renewFrame } from "./test/frames.ts";
import { type Answer, RawClient, textOf } from "./test/raw-client.ts";
import { startWithClient } from "./test/setup.ts";

/** Creates the journal counts as executed for a name. */
function executedCreates(registry: SandboxRegistry, name: string): number {
  return registry.store.journal.entries({ name, command: "domain:create" }).filter((entry) => entry.executed).length;
}

/** Asks until the answer is the wanted one: a pending create is decided by a timer of the registry. */
async function askUntil(client: RawClient, frame: string, isWanted: (answer: Answer) => boolean): Promise<Answer> {
  for (;;) {
    const answer = await client.ask(frame);
    if (isWanted(answer)) return answer;
  }
}

const isMessage = ({ code }: Answer) => code === 1301;

test("answers check, create and info for the labels that refuse", async (context) => {
  const { client } = await startWithClient(context);
  const cases: [string, string, number, number][] = [
    ["taken-a.test", '0">taken-a.test</domain:name><domain:reason>In use<', 2302, 1000],
    ["reserved-a.test", '0">reserved-a.test</domain:name><domain:reason>Reserved<', 2304, 2303],
    ["reserved2302-a.test", '1">', 2302, 2303],
    ["blocked-a.test", '0">blocked-a.test</domain:name><domain:reason>Blocked<', 2306, 2303],
    ["premium-a.test", '0">premium-a.test</domain:name><domain:reason>Premium<', 2306, 2303],
    ["race-a.test", '1">', 2302, 1000],
    ["code-2400-a.test", '1">', 2400, 2303],
    ["code-1000-a.test", '1">', 1000, 1000],
  ];
  for (const [name, availability, createCode, infoCode] of cases) {
    assert.ok((await client.ask(checkFrame(name))).xml.includes(`avail="${availability}`), name);
    assert.equal((await client.ask(createFrame(name))).code, createCode, name);
    const info = await client.ask(infoFrame(name));
    assert.equal(info.code, infoCode, name);
    if (createCode === 2302 && infoCode === 1000) assert.equal(textOf(info, "clID"), "sandbox-other");
  }
  assert.equal((await client.ask(deleteFrame("taken-a.test"))).code, 2201);
});

test("refuses once with the code of once-<nnnn>-, then creates; a 25xx ends the connection", async (context) => {
  const { registry, client } = await startWithClient(context);
  assert.equal((await client.ask(createFrame("once-2400-a.test"))).code, 2400);
  assert.equal((await client.ask(createFrame("once-2400-a.test"))).code, 1000);
  assert.equal((await client.ask(createFrame("once-2502-a.test"))).code, 2502);
  assert.equal(await client.receive(), undefined);
  assert.equal(executedCreates(registry, "once-2502-a.test"), 0);
});

test("approves a pending create later: pendingCreate, then a poll message with both TRIDs, then ok", async (context) => {
  const { registry, client } = await startWithClient(context, { pendingDelayMs: 60_000 });
  const created = await client.ask(createFrame("pending-approve-a.test", { clTRID: "order-7" }));
  assert.equal(created.code, 1001);
  assert.match((await client.ask(infoFrame("pending-approve-a.test"))).xml, /s="pendingCreate"/);
  assert.equal((await client.ask(deleteFrame("pending-approve-a.test"))).code, 2304);
  await registry.advance(60_000);
  const { xml } = await client.ask(pollFrame);
  assert.match(xml, /<msgQ count="1" id="\d+">/);
  assert.match(xml, /paResult="1">pending-approve-a.test</);
  assert.ok(xml.includes(`<clTRID>order-7</clTRID><svTRID>${created.svTRID}</svTRID></domain:paTRID>`));
  const info = await client.ask(infoFrame("pending-approve-a.test"));
  assert.ok(!info.xml.includes("pendingCreate"));
});

test("denies a pending create later: a message reports it and the name is free", async (context) => {
  const { client } = await startWithClient(context, { pendingDelayMs: 1 });
  await client.ask(createFrame("pending-deny-a.test"));
  const { xml } = await askUntil(client, pollFrame, isMessage);
  assert.match(xml, /paResult="0"/);
  assert.equal((await client.ask(infoFrame("pending-deny-a.test"))).code, 2303);
});

test("keeps a message at the head of the queue until it is acknowledged, for its registrar only", async (context) => {
  const { registry, client } = await startWithClient(context, { pendingDelayMs: 1 });
  assert.equal((await client.ask(pollFrame)).code, 1300);
  await client.ask(createFrame("pending-approve-a.test"));
  await client.ask(createFrame("pending-approve-b.test"));
  const { xml } = await askUntil(client, pollFrame, (answer) => answer.xml.includes('count="2"'));
  const id = /<msgQ count="2" id="(\d+)"/.exec(xml)?.[1] ?? "";
  assert.ok((await client.ask(pollFrame)).xml.includes(`id="${id}"`));
  const other = await RawClient.login(registry, "gate-two", "secret-2");
  assert.equal((await other.ask(pollFrame)).code, 1300);
  assert.equal((await other.ask(ackFrame(id))).code, 2303);
  const acked = await client.ask(ackFrame(id));
  assert.equal(acked.code, 1000);
  assert.match(acked.xml, /<msgQ count="1"/);
  assert.equal((await client.ask(ackFrame(id))).code, 2303);
  assert.equal((await client.ask(pollFrame.replace('op="req"', 'op="ack"'))).code, 2003);
  other.close();
});

test("approves without a message, or never decides, if the label says so", async (context) => {
  const { client } = await startWithClient(context, { pendingDelayMs: 1 });
  await client.ask(createFrame("pending-never-a.test"));
  await client.ask(createFrame("pending-lost-a.test"));
  await askUntil(client, infoFrame("pending-lost-a.test"), ({ xml }) => !xml.includes("pendingCreate"));
  assert.match((await client.ask(infoFrame("pending-never-a.test"))).xml, /pendingCreate/);
  assert.equal((await client.ask(pollFrame)).code, 1300);
});

test("drops the connection before or after the first create, and journals whether it was executed", async (context) => {
  const { registry, client } = await startWithClient(context);
  client.send(createFrame("drop-before-a.test"));
  assert.equal(await client.receive(), undefined);
  assert.equal(executedCreates(registry, "drop-before-a.test"), 0);

  const second = await RawClient.login(registry);
  assert.equal((await second.ask(infoFrame("drop-before-a.test"))).code, 2303);
  assert.equal((await second.ask(createFrame("drop-before-a.test"))).code, 1000);
  second.send(createFrame("drop-after-a.test"));
  assert.equal(await second.receive(), undefined);
  assert.equal(executedCreates(registry, "drop-after-a.test"), 1);

  const third = await RawClient.login(registry);
  assert.equal(textOf(await third.ask(infoFrame("drop-after-a.test")), "clID"), "gate-one");
  assert.equal((await third.ask(createFrame("drop-after-a.test"))).code, 2302);
  assert.equal(executedCreates(registry, "drop-after-a.test"), 1);
  third.close();
});

test("undoes an unanswered create if the label says so, and journals it", async (context) => {
  const { registry, client } = await startWithClient(context, { undoDelayMs: 1 });
  client.send(createFrame("undo-after-a.test"));
  assert.equal(await client.receive(), undefined);
  const second = await RawClient.login(registry);
  await askUntil(second, infoFrame("undo-after-a.test"), ({ code }) => code === 2303);
  assert.equal(registry.store.journal.entries({ command: "domain:undo" }).length, 1);
  assert.equal((await second.ask(createFrame("undo-after-a.test"))).code, 1000);
  second.close();
});

test("damages the answer of an executed create: garbage, another clTRID, half a frame", async (context) => {
  const { registry, client } = await startWithClient(context);
  client.send(createFrame("garbage-a.test"));
  assert.match((await client.receive()) ?? "", /not XML/);
  assert.equal((await client.ask(createFrame("trid-a.test"))).clTRID, "SBX-NEVER-SENT");
  client.send(createFrame("short-a.test"));
  assert.equal(await client.receive(), undefined);
  for (const name of ["garbage-a.test", "trid-a.test", "short-a.test"])
    assert.equal(executedCreates(registry, name), 1);
});

test("limits a delay to the maximum, and treats an invalid number as part of the name", () => {
  const delayOf = (name: string) => effectOf(name, { ...defaultSettings, slowMsMax: 30 }).delivery;
  for (const ms of ["31", "999999", "9999999", "9".repeat(50)]) {
    assert.deepEqual(delayOf(`slow-${ms}-a.test`), { delayMs: 30 });
  }
  for (const name of ["slow--a.test", "slow-a.test", "code-9999-a.test", "code-1000-a.test", "code-24000-a.test"]) {
    assert.equal(effectOf(name, defaultSettings), noEffect, name);
  }
});

test("delays answers, or sends them byte by byte, and stays correct", async (context) => {
  const { registry, client } = await startWithClient(context, { lateMs: 20, slowMsMax: 30 });
  assert.equal((await client.ask(createFrame("late-a.test"))).code, 1000);
  assert.equal((await client.ask(checkFrame("slow-99999-a.test"))).code, 1000);
  assert.equal((await client.ask(createFrame("slow-5-a.test"))).code, 1000);
  assert.equal((await client.ask(createFrame("dribble-a.test"))).code, 1000);
  assert.equal(executedCreates(registry, "late-a.test"), 1);
});

/** Registers a name that its label leaves alone at create, and returns the two commands its label is about. */
async function registerFor(client: RawClient, name: string): Promise<{ renew: string; delete: string }> {
  const created = await client.ask(createFrame(name));
  assert.equal(created.code, 1000);
  return { renew: renewFrame(name, textOf(created, "exDate").slice(0, 10)), delete: deleteFrame(name) };
}

for (const verb of ["renew", "delete"] as const) {
  const executions = (registry: SandboxRegistry, name: string) =>
    registry.store.journal.entries({ name, command: `domain:${verb}` }).filter(({ executed }) => executed).length;

  test(`refuses a ${verb} once or always, as the label of its name says`, async (context) => {
    const { registry, client } = await startWithClient(context);
    const always = await registerFor(client, `${verb}-code-2304-a.test`);
    assert.equal((await client.ask(always[verb])).code, 2304);
    assert.equal((await client.ask(always[verb])).code, 2304);
    const once = await registerFor(client, `${verb}-once-2400-a.test`);
    assert.equal((await client.ask(once[verb])).code, 2400);
    assert.equal((await client.ask(once[verb])).code, 1000);
    assert.equal(executions(registry, `${verb}-once-2400-a.test`), 1);
  });

  test(`loses or spoils the answer to the first ${verb}, as the label of its name says`, async (context) => {
    const { registry, client } = await startWithClient(context, { lateMs: 1 });
    for (const [label, executed] of [
      ["drop-before", 0],
      ["drop-after", 1],
      ["short", 1],
    ] as const) {
      const name = `${verb}-${label}-a.test`;
      const dropped = await RawClient.login(registry);
      dropped.send((await registerFor(dropped, name))[verb]);
      assert.equal(await dropped.receive(), undefined, label);
      assert.equal(executions(registry, name), executed, label);
    }
    client.send((await registerFor(client, `${verb}-garbage-a.test`))[verb]);
    assert.match((await client.receive()) ?? "", /not XML/);
    const wrong = await registerFor(client, `${verb}-trid-a.test`);
    assert.equal((await client.ask(wrong[verb])).clTRID, "SBX-NEVER-SENT");
    const late = await registerFor(client, `${verb}-late-a.test`);
    assert.equal((await client.ask(late[verb])).code, 1000);
    const again = await registerFor(client, `${verb}-late-b.test`);
    assert.equal((await client.ask(again[verb])).code, 1000);
  });
}

test("lets a registrar delete its pending create if the label says so", async (context) => {
  const { client } = await startWithClient(context);
  const name = "pending-deletable-a.test";
  assert.equal((await client.ask(createFrame(name))).code, 1001);
  assert.match((await client.ask(infoFrame(name))).xml, /pendingCreate/);
  assert.equal((await client.ask(deleteFrame(name))).code, 1000);
  assert.equal((await client.ask(infoFrame(name))).code, 2303);
});

test("a label that acts once is not used up by a create that is refused for another reason", async (context) => {
  const { client } = await startWithClient(context);
  assert.equal((await client.ask(createFrame("trid-a.test", { registrant: "nobody" }))).clTRID, "test-1");
  assert.equal((await client.ask(createFrame("trid-a.test"))).clTRID, "SBX-NEVER-SENT");
});
