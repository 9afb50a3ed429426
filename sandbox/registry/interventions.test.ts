import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { DomainChange, TransferIntervention } from "./interventions.ts";
import type { SandboxRegistryOptions } from "./server.ts";
import {
  contactCreateFrame,
  contactUri,
  createFrame,
  domainUri,
  hostFrame,
  hostUri,
  infoFrame,
  secDnsUri,
  transferFrame,
  updateFrame,
} from "./test/frames.ts";
import { messageText, pollAll } from "./test/queue.ts";
import { type Answer, RawClient, textOf } from "./test/raw-client.ts";
import { startWithClient } from "./test/setup.ts";

const dayMs = 24 * 60 * 60_000;
const now = () => new Date("2028-03-01T10:00:00.000Z");
const changePollUri = "urn:ietf:params:xml:ns:changePoll-1.0";
const all = { objects: [domainUri, contactUri, hostUri], extension: [secDnsUri, changePollUri] };
const lock = (verb: string) => `<domain:${verb}><domain:status s="clientTransferProhibited"/></domain:${verb}>`;
const digest = "49FD46E6C4B45C55D4AC69B3BC9BA1C4B9F0A4F7F5F7B6C3F1E0D2C4B6A89078";

async function startWithName(context: TestContext, options: Partial<SandboxRegistryOptions> = {}) {
  const { registry, client } = await startWithClient(context, { now, ...options }, all);
  await client.ask(createFrame("a.test"));
  const post = async (path: string, body: unknown) => {
    const answer = await fetch(`http://127.0.0.1:${registry.controlPort}${path}`, {
      method: "POST",
      body: JSON.stringify(body),
    });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };
  return { registry, client, post };
}

const outcomes = async (client: RawClient) =>
  (await pollAll(client)).map((message) => `${messageText(message)}, ${textOf(message, "reID")}`);

const statuses = ({ xml }: Answer) => [...xml.matchAll(/<domain:status s="(\w+)"/g)].map((match) => match[1]);

test("another registrar requests a transfer without a command, and both registrars learn how it ends", async (context) => {
  const { registry, client, post } = await startWithName(context);
  const ends: [TransferIntervention["op"], string][] = [
    ["reject", "clientRejected"],
    ["cancel", "clientCancelled"],
    ["server-cancel", "serverCancelled"],
    ["approve", "clientApproved"],
  ];
  for (const [op, status] of ends) {
    const asked = await post("/transfers", { name: "a.test", op: "request" });
    assert.deepEqual([asked.status, asked.body.reID, asked.body.status], [200, "sandbox-other", "pending"]);
    assert.deepEqual(statuses(await client.ask(infoFrame("a.test"))).slice(0, 1), ["pendingTransfer"]);
    await registry.transfer({ name: "a.test", op });
    assert.deepEqual(await outcomes(client), [
      "A transfer was requested, sandbox-other",
      `The transfer ended: ${status}, sandbox-other`,
    ]);
  }
  assert.equal(textOf(await client.ask(infoFrame("a.test")), "clID"), "sandbox-other");
});

test("a transfer that a test requests can be answered by EPP, and is approved after transferDays", async (context) => {
  const { registry, client } = await startWithName(context);
  await registry.transfer({ name: "a.test", op: "request", registrar: "gate-two" });
  assert.equal((await client.ask(transferFrame("reject", "a.test"))).code, 1000);
  await registry.transfer({ name: "a.test", op: "request", registrar: "gate-two" });
  await registry.advance(5 * dayMs);
  assert.equal(textOf(await client.ask(infoFrame("a.test")), "clID"), "gate-two");
  assert.equal((await outcomes(client)).at(-1), "The transfer ended: serverApproved, gate-two");
});

test("requests no transfer that a status prohibits, and names the mistake", async (context) => {
  const { client, post } = await startWithName(context);
  await client.ask(updateFrame("a.test", lock("add")));
  const cases: [object, RegExp][] = [
    [{ name: "a.test", op: "request" }, /cannot be transferred: clientTransferProhibited/],
    [{ name: "a.test", op: "request", registrar: "gate-one" }, /sponsors "a.test" already/],
    [{ name: "a.test", op: "request", registrar: "nobody" }, /no registrar "nobody"/],
    [{ name: "a.test", op: "approve" }, /No transfer of "a.test" is pending/],
    [{ name: "b.test", op: "request" }, /There is no name "b.test"/],
    [{ name: "a.test", op: "steal" }, /op must be one of request, approve/],
  ];
  for (const [body, sentence] of cases) {
    const answer = await post("/transfers", body);
    assert.equal(answer.status, 400);
    assert.match(String(answer.body.error), sentence);
  }
});

test("a leaving- name is requested by another registrar once nothing prohibits its transfer", async (context) => {
  const { registry, client } = await startWithClient(context, { now, pendingDelayMs: 60_000 });
  await client.ask(createFrame("leaving-a.test"));
  registry.setFaults({ commands: [{ command: "domain:update", as: "pending", decision: "never", times: 1 }] });
  assert.equal((await client.ask(updateFrame("leaving-a.test", lock("add")))).code, 1001);
  await registry.decide("leaving-a.test", "lose");
  await registry.advance(3_600_000);
  assert.deepEqual(await outcomes(client), []);
  await client.ask(updateFrame("leaving-a.test", lock("rem")));
  assert.deepEqual(await outcomes(client), ["A transfer was requested, sandbox-other"]);
  assert.equal(
    textOf(await client.ask(transferFrame("query", "leaving-a.test")), "reDate"),
    "2028-03-01T11:00:00.000Z",
  );
  assert.equal((await client.ask(transferFrame("reject", "leaving-a.test"))).code, 1000);
  await registry.advance(dayMs);
  assert.deepEqual(await outcomes(client), [], "it is requested once");
});

test("changes every part of a name behind its registrar's back", async (context) => {
  const { registry, client, post } = await startWithName(context);
  await client.ask(contactCreateFrame("reg-2"));
  const change: DomainChange = {
    addStatuses: ["serverHold", "serverTransferProhibited"],
    nameServers: [{ name: "ns1.elsewhere.example" }, { name: "ns2.elsewhere.example" }],
    registrant: "reg-2",
    contacts: [{ type: "tech", id: "reg-1" }],
    dsData: [{ keyTag: 12345, alg: 8, digestType: 2, digest }],
    exDate: "2031-01-01T00:00:00Z",
  };
  assert.equal((await post("/domains/A.test", change)).status, 200);
  const info = await client.ask(infoFrame("a.test"));
  assert.deepEqual(statuses(info), ["serverHold", "serverTransferProhibited"]);
  assert.match(info.xml, /hostObj>ns1\.elsewhere\.example<.*hostObj>ns2\.elsewhere\.example</);
  assert.match(info.xml, /registrant>reg-2<.*contact type="tech">reg-1</);
  assert.equal(textOf(info, "digest"), digest);
  assert.equal(textOf(info, "exDate"), "2031-01-01T00:00:00.000Z");
  assert.equal(textOf(await client.ask(hostFrame("info", "ns1.elsewhere.example")), "clID"), "sandbox-other");
  await registry.change("a.test", { removeStatuses: ["serverHold"], nameServers: [], dsData: [] });
  const bare = await client.ask(infoFrame("a.test"));
  assert.deepEqual(statuses(bare), ["serverTransferProhibited", "inactive"]);
  assert.ok(!bare.xml.includes("secDNS:dsData"));
  assert.deepEqual(await outcomes(client), [], "its registrar gets no message");
  assert.equal(registry.store.journal.entries({ command: "domain:change" }).length, 2);
});

test("changes name servers with their addresses where they are attributes", async (context) => {
  const { registry, client } = await startWithClient(
    context,
    { now, hostModel: "attributes", dataModel: "thin" },
    { objects: [domainUri] },
  );
  await client.ask(createFrame("a.test", { registrant: "" }));
  await registry.change("a.test", { nameServers: [{ name: "ns1.a.test", addresses: ["192.0.2.1", "2001:db8::1"] }] });
  const { xml } = await client.ask(infoFrame("a.test"));
  assert.match(xml, /hostName>ns1\.a\.test<.*hostAddr ip="v4">192\.0\.2\.1<.*hostAddr ip="v6">2001:db8::1</);
});

test("moves a name, and the hosts below it, to another registrar without a message", async (context) => {
  const { registry, client } = await startWithName(context);
  await client.ask(hostFrame("create", "ns1.a.test", '<host:addr ip="v4">192.0.2.1</host:addr>'));
  await registry.change("a.test", { registrar: "gate-two" });
  assert.equal(textOf(await client.ask(infoFrame("a.test")), "clID"), "gate-two");
  assert.equal(textOf(await client.ask(hostFrame("info", "ns1.a.test")), "clID"), "gate-two");
  assert.equal((await client.ask(updateFrame("a.test", lock("add")))).code, 2201);
  assert.deepEqual(await outcomes(client), []);
});

test("removes a name at once, with or without a message", async (context) => {
  const { registry, client } = await startWithName(context);
  await client.ask(createFrame("b.test"));
  await registry.change("a.test", { removed: true });
  assert.equal((await client.ask(infoFrame("a.test"))).code, 2303);
  await registry.change("b.test", { removed: true, message: { text: "Deleted by court order" } });
  assert.equal((await client.ask(infoFrame("b.test"))).code, 2303);
  assert.deepEqual((await pollAll(client)).map(messageText), ["Deleted by court order"]);
});

test("tells of a change with the extension of RFC 8590, to a client that requested it", async (context) => {
  const { registry, client } = await startWithName(context);
  const tell = (change: DomainChange) =>
    registry.change("a.test", { ...change, message: { changePoll: { reason: "UDRP" } } });
  await tell({ addStatuses: ["serverUpdateProhibited"] });
  await tell({ registrar: "gate-two" });
  const messages = await pollAll(client);
  assert.deepEqual(
    messages.map((message) => [textOf(message, "operation"), textOf(message, "clID"), textOf(message, "reason")]),
    [
      ["update", "gate-one", "UDRP"],
      ["transfer", "gate-two", "UDRP"],
    ],
  );
  assert.match(messages[0]?.xml ?? "", /changeData [^>]*state="after".*<changePoll:who>Registry staff</);
  assert.match(messages[0]?.xml ?? "", /<domain:infData.*serverUpdateProhibited/);
  await registry.change("a.test", { removed: true, message: { changePoll: {} } });
  const plain = await RawClient.login(registry, "gate-two", "secret-2");
  context.after(() => plain.close());
  const [told] = await pollAll(plain);
  assert.match(told?.xml ?? "", /<domain:infData/);
  assert.ok(!told?.xml.includes("changePoll"));
});

test("names the mistake in a change, and changes nothing", async (context) => {
  const { registry, client, post } = await startWithName(context);
  const before = registry.store.domains.find("a.test");
  const cases: [object, RegExp][] = [
    [{ addStatuses: ["serverHold", "odd"] }, /"odd" is not a status/],
    [{ removeStatuses: ["serverHold"] }, /does not have serverHold/],
    [{ registrant: "nobody" }, /There is no contact "nobody"/],
    [{ registrar: "nobody" }, /There is no registrar "nobody"/],
    [{ nameServers: [{ name: "-" }] }, /"-" is not a host name/],
    [{ nameServers: [{ name: "ns1.a.test", addresses: ["192.0.2.1"] }] }, /Host objects have their addresses/],
    [{ exDate: "soon" }, /"soon" is not a time/],
    [{ dsData: [{ keyTag: 1, alg: 8, digestType: 2, digest: "xyz" }] }, /dsData\.0\.digest must match/],
    [{ keyData: [{ flags: 257, protocol: 3, alg: 8, pubKey: "?" }] }, /No valid answer can show this/],
    [{ message: { changePoll: { who: "" } } }, /No valid answer can show this/],
    [{ colour: "red" }, /colour is not known/],
  ];
  for (const [body, sentence] of cases) {
    const answer = await post("/domains/a.test", body);
    assert.equal(answer.status, 400, JSON.stringify(body));
    assert.match(String(answer.body.error), sentence);
  }
  assert.equal((await post("/domains/b.test", {})).status, 404);
  assert.equal(registry.store.domains.find("a.test"), before);
  assert.equal((await client.ask(infoFrame("a.test"))).code, 1000);
});
