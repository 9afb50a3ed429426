import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { SandboxRegistryOptions } from "./server.ts";
import {
  contactCreateFrame,
  contactFrame,
  contactUpdateFrame,
  contactUri,
  createFrame,
  deleteFrame,
  domainUri,
  extended,
  hostFrame,
  hostUri,
  infoFrame,
  renewFrame,
  restoreFrame,
  rgpUri,
  secDnsUri,
  transferFrame,
  updateFrame,
} from "./test/frames.ts";
import { messageText, pollAll } from "./test/queue.ts";
import { type Answer, RawClient, textOf } from "./test/raw-client.ts";
import { startWithClient } from "./test/setup.ts";

const dayMs = 24 * 60 * 60_000;
const now = () => new Date("2028-03-01T10:00:00.000Z");
const all = { objects: [domainUri, contactUri, hostUri], extension: [rgpUri, secDnsUri] };
const lock = '<domain:add><domain:status s="clientTransferProhibited"/></domain:add>';
const secDns = `<secDNS:update xmlns:secDNS="${secDnsUri}"><secDNS:add><secDNS:keyData><secDNS:flags>257</secDNS:flags><secDNS:protocol>3</secDNS:protocol><secDNS:alg>8</secDNS:alg><secDNS:pubKey>AQPJ</secDNS:pubKey></secDNS:keyData></secDNS:add></secDNS:update>`;

async function startWithName(context: TestContext, name: string, options: Partial<SandboxRegistryOptions> = {}) {
  const { registry, client } = await startWithClient(context, { now, pendingDelayMs: 60_000, ...options }, all);
  assert.equal((await client.ask(createFrame(name))).code, 1000, "the label does not affect the create");
  await registry.advance(10 * dayMs);
  return { registry, client };
}

const statuses = ({ xml }: Answer) => [...xml.matchAll(/<domain:status s="(\w+)"/g)].map((match) => match[1]);

/** What the messages say about pending commands: result, and whose transaction it was. */
function results(messages: readonly Answer[], { svTRID }: Answer): string[] {
  return messages
    .filter(({ xml }) => xml.includes("<domain:panData"))
    .map(({ xml }) => `${/paResult="(\d)"/.exec(xml)?.[1]} ${xml.includes(`${svTRID}</svTRID></domain:paTRID>`)}`);
}

for (const decision of ["approve", "deny", "lost"] as const) {
  const isApproved = decision !== "deny";
  const told = decision === "lost" ? [] : [`${isApproved ? 1 : 0} true`];

  test(`an update stays pending, and the decision is ${decision}`, async (context) => {
    const name = `update-pending-${decision}-a.test`;
    const { registry, client } = await startWithName(context, name);
    const asked = await client.ask(extended(updateFrame(name, lock), secDns));
    assert.equal(asked.code, 1001);
    const meanwhile = await client.ask(infoFrame(name));
    assert.deepEqual(statuses(meanwhile), ["pendingUpdate", "inactive"]);
    assert.ok(!meanwhile.xml.includes("secDNS:keyData"));
    for (const frame of [updateFrame(name, lock), renewFrame(name, "2029-03-01"), deleteFrame(name)]) {
      assert.equal((await client.ask(frame)).code, 2304);
    }
    await registry.advance(60_000);
    assert.deepEqual(results(await pollAll(client), asked), told);
    const info = await client.ask(infoFrame(name));
    assert.deepEqual(statuses(info), isApproved ? ["clientTransferProhibited", "inactive"] : ["inactive"]);
    assert.equal(info.xml.includes("secDNS:keyData"), isApproved);
  });

  test(`a renewal stays pending, and the decision is ${decision}`, async (context) => {
    const name = `renew-pending-${decision}-a.test`;
    const { registry, client } = await startWithName(context, name);
    const asked = await client.ask(renewFrame(name, "2029-03-01"));
    assert.equal(asked.code, 1001);
    const meanwhile = await client.ask(infoFrame(name));
    assert.deepEqual(statuses(meanwhile), ["pendingRenew", "inactive"]);
    assert.equal(textOf(meanwhile, "exDate"), "2029-03-01T10:00:00.000Z");
    assert.equal((await client.ask(renewFrame(name, "2029-03-01"))).code, 2304);
    await registry.advance(60_000);
    assert.deepEqual(results(await pollAll(client), asked), told);
    const info = await client.ask(infoFrame(name));
    assert.equal(textOf(info, "exDate"), `${isApproved ? 2030 : 2029}-03-01T10:00:00.000Z`);
    assert.ok(!info.xml.includes("pendingRenew"));
    assert.equal(info.xml.includes("renewPeriod"), isApproved);
  });

  test(`a restore stays pending, and the decision is ${decision}`, async (context) => {
    const name = `restore-pending-${decision}-a.test`;
    const { registry, client } = await startWithName(context, name, { restoreReport: false });
    await client.ask(deleteFrame(name));
    const asked = await client.ask(restoreFrame(name));
    assert.equal(asked.code, 1001);
    const meanwhile = await client.ask(infoFrame(name));
    assert.deepEqual(statuses(meanwhile), ["pendingDelete", "inactive"]);
    assert.match(meanwhile.xml, /rgpStatus s="redemptionPeriod"/);
    assert.equal((await client.ask(restoreFrame(name))).code, 2304);
    await registry.advance(60_000);
    assert.deepEqual(results(await pollAll(client), asked), told);
    assert.deepEqual(
      statuses(await client.ask(infoFrame(name))),
      isApproved ? ["inactive"] : ["pendingDelete", "inactive"],
    );
    assert.equal(registry.store.domains.find(name)?.deletion === undefined, isApproved);
  });

  test(`the answer to a transfer stays pending, and the decision is ${decision}`, async (context) => {
    const name = `transfer-pending-${decision}-a.test`;
    const { registry, client } = await startWithName(context, name);
    const gainer = await RawClient.login(registry, "gate-two", "secret-2", all);
    context.after(() => gainer.close());
    assert.equal((await gainer.ask(transferFrame("request", name, "auth-1"))).code, 1001);
    const asked = await client.ask(transferFrame("approve", name));
    assert.deepEqual([asked.code, textOf(asked, "trStatus")], [1001, "pending"]);
    assert.equal((await client.ask(transferFrame("reject", name))).code, 2304);
    await registry.advance(60_000);
    assert.deepEqual(results(await pollAll(client), asked), told);
    assert.equal(textOf(await client.ask(infoFrame(name)), "clID"), isApproved ? "gate-two" : "gate-one");
    const ended = isApproved ? ["The transfer ended: clientApproved"] : [];
    assert.deepEqual((await pollAll(gainer)).map(messageText), ended);
    if (!isApproved) assert.equal((await client.ask(transferFrame("approve", name))).code, 1001);
  });
}

test("a pending command is decided at once on request, also if it never would be", async (context) => {
  const { registry, client } = await startWithName(context, "update-pending-never-a.test");
  const asked = await client.ask(updateFrame("update-pending-never-a.test", lock));
  await registry.advance(300 * dayMs);
  assert.match((await client.ask(infoFrame("update-pending-never-a.test"))).xml, /pendingUpdate/);
  const body = JSON.stringify({ name: "update-pending-never-a.test", decision: "approve" });
  const decide = () => fetch(`http://127.0.0.1:${registry.controlPort}/decisions`, { method: "POST", body });
  assert.equal((await decide()).status, 200);
  assert.deepEqual(results(await pollAll(client), asked), ["1 true"]);
  const again = await decide();
  assert.equal(again.status, 400);
  assert.match(await again.text(), /waits for a decision/);
});

test("a fault makes the given number of commands pending", async (context) => {
  const { registry, client } = await startWithName(context, "a.test");
  const pending = (command: string) => ({ command, as: "pending", decision: "deny", times: 1 }) as const;
  registry.setFaults({ commands: [pending("domain:update"), pending("domain:create")] });
  const created = await client.ask(createFrame("b.test"));
  const updated = await client.ask(updateFrame("a.test", lock));
  assert.deepEqual([created.code, updated.code], [1001, 1001]);
  assert.match((await client.ask(infoFrame("b.test"))).xml, /pendingCreate/);
  await registry.advance(60_000);
  const messages = await pollAll(client);
  assert.deepEqual(results(messages, created).toSorted(), ["0 false", "0 true"]);
  assert.equal((await client.ask(infoFrame("b.test"))).code, 2303);
  assert.equal((await client.ask(updateFrame("a.test", lock))).code, 1000);
});

/** Commands about hosts and contacts, and what the info shows before and after an approval and a denial. */
const objectCases: [command: string, frame: string, info: string, status: string, approved: RegExp, denied: RegExp][] =
  [
    [
      "host:create",
      hostFrame("create", "ns.elsewhere.example"),
      hostFrame("info", "ns.elsewhere.example"),
      "pendingCreate",
      /code="1000".*s="ok"/s,
      /code="2303"/,
    ],
    [
      "host:update",
      hostFrame("update", "ns1.a.test", '<host:add><host:addr ip="v4">192.0.2.2</host:addr></host:add>'),
      hostFrame("info", "ns1.a.test"),
      "pendingUpdate",
      /s="ok".*192\.0\.2\.1<.*192\.0\.2\.2</s,
      /s="ok".*192\.0\.2\.1<\/host:addr><host:clID/s,
    ],
    [
      "host:delete",
      hostFrame("delete", "ns1.a.test"),
      hostFrame("info", "ns1.a.test"),
      "pendingDelete",
      /code="2303"/,
      /s="ok"/,
    ],
    [
      "contact:create",
      contactCreateFrame("reg-2"),
      contactFrame("info", "reg-2"),
      "pendingCreate",
      /s="ok"/,
      /code="2303"/,
    ],
    [
      "contact:update",
      contactUpdateFrame("reg-3", "<contact:chg><contact:email>new@example.test</contact:email></contact:chg>"),
      contactFrame("info", "reg-3"),
      "pendingUpdate",
      /s="ok".*new@example\.test/s,
      /s="ok".*ada@example\.test/s,
    ],
    [
      "contact:delete",
      contactFrame("delete", "reg-3"),
      contactFrame("info", "reg-3"),
      "pendingDelete",
      /code="2303"/,
      /s="ok"/,
    ],
  ];

for (const [command, frame, info, status, approved, denied] of objectCases) {
  test(`a fault leaves ${command} pending until its decision, which a message reports`, async (context) => {
    for (const decision of ["approve", "deny"] as const) {
      const { registry, client } = await startWithName(context, "a.test");
      await client.ask(hostFrame("create", "ns1.a.test", '<host:addr ip="v4">192.0.2.1</host:addr>'));
      await client.ask(contactCreateFrame("reg-3"));
      registry.setFaults({ commands: [{ command, as: "pending", decision, times: 1 }] });
      const asked = await client.ask(frame);
      assert.equal(asked.code, 1001);
      assert.ok((await client.ask(info)).xml.includes(`status s="${status}"`));
      if (status !== "pendingCreate") assert.equal((await client.ask(frame)).code, 2304);
      await registry.advance(60_000);
      const [told] = await pollAll(client);
      const object = command.split(":")[0];
      assert.match(
        told?.xml ?? "",
        new RegExp(`<${object}:panData.*paResult="${decision === "approve" ? 1 : 0}"`, "s"),
      );
      assert.ok(told?.xml.includes(`${asked.svTRID}</svTRID></${object}:paTRID>`));
      assert.match((await client.ask(info)).xml, decision === "approve" ? approved : denied);
    }
  });
}

test("a pending host or contact is decided on request too, and a host's new name is never pending", async (context) => {
  const { registry, client } = await startWithName(context, "a.test");
  await client.ask(hostFrame("create", "ns.elsewhere.example"));
  registry.setFaults({ commands: [{ command: "contact:create", as: "pending", decision: "never" }] });
  await client.ask(contactCreateFrame("reg-2"));
  await registry.decide("reg-2", "lose");
  assert.match((await client.ask(contactFrame("info", "reg-2"))).xml, /s="ok"/);
  assert.deepEqual(await pollAll(client), []);
  registry.setFaults({ commands: [{ command: "host:update", as: "pending" }] });
  const rename = "<host:chg><host:name>ns2.elsewhere.example</host:name></host:chg>";
  assert.equal((await client.ask(hostFrame("update", "ns.elsewhere.example", rename))).code, 1000);
});

test("a command that is refused leaves nothing pending", async (context) => {
  const { registry, client } = await startWithName(context, "renew-pending-approve-a.test");
  assert.equal((await client.ask(renewFrame("renew-pending-approve-a.test", "2028-03-01"))).code, 2004);
  assert.deepEqual(statuses(await client.ask(infoFrame("renew-pending-approve-a.test"))), ["inactive"]);
  await registry.advance(60_000);
  assert.deepEqual(await pollAll(client), []);
});

test("what is pending ends with the name's term", async (context) => {
  const name = "update-pending-never-a.test";
  const { registry, client } = await startWithName(context, name, { atExpiry: "expire" });
  await client.ask(updateFrame(name, lock));
  await registry.advance(360 * dayMs);
  assert.deepEqual(statuses(await client.ask(infoFrame(name))), ["pendingDelete", "inactive"]);
});
