import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import {
  commandFrame,
  contactFrame,
  contactUri,
  createFrame,
  deleteFrame,
  domainUri,
  hostFrame,
  hostObjects,
  hostUri,
  infoFrame,
  updateFrame,
} from "./test/frames.ts";
import { RawClient } from "./test/raw-client.ts";
import { startWithClient } from "./test/setup.ts";

const dayMs = 24 * 60 * 60_000;
const withHosts = { objects: [domainUri, contactUri, hostUri] };
const v4 = (address: string) => `<host:addr ip="v4">${address}</host:addr>`;
const v6 = (address: string) => `<host:addr ip="v6">${address}</host:addr>`;
const add = (content: string) => `<host:add>${content}</host:add>`;
const rem = (content: string) => `<host:rem>${content}</host:rem>`;
const chg = (name: string) => `<host:chg><host:name>${name}</host:name></host:chg>`;

/** A registry with a name "a.test" of gate-one, and both registrars. */
async function startWithName(context: TestContext) {
  const { registry, client } = await startWithClient(context, {}, withHosts);
  await client.ask(createFrame("a.test"));
  const other = await RawClient.login(registry, "gate-two", "secret-2", withHosts);
  context.after(() => other.close());
  return { registry, client, other };
}

async function assertCodes(client: RawClient, cases: [number, string][]): Promise<void> {
  for (const [code, frame] of cases) assert.equal((await client.ask(frame)).code, code, frame);
}

test("creates a host with glue below a name of its registrar, and without glue elsewhere", async (context) => {
  const { client, other } = await startWithName(context);
  await assertCodes(client, [
    [1000, hostFrame("create", "NS1.a.test", v4("192.0.2.1") + v6("2001:DB8::1"))],
    [1000, hostFrame("create", "ns1.example.net")],
    [2302, hostFrame("create", "ns1.example.net")],
    [2003, hostFrame("create", "ns2.a.test")],
    [2306, hostFrame("create", "ns2.example.net", v4("192.0.2.1"))],
    [2306, hostFrame("create", "ns2.a.test", v4("192.0.2.1") + v4("192.0.2.1"))],
    [2005, hostFrame("create", "ns2.a.test", v4("2001:db8::1"))],
    [2005, hostFrame("create", "not_a_host")],
    [2303, hostFrame("create", "ns1.nobody.test", v4("192.0.2.1"))],
  ]);
  await assertCodes(other, [[2201, hostFrame("create", "ns2.a.test", v4("192.0.2.1"))]]);
  const { xml } = await other.ask(hostFrame("info", "ns1.a.test"));
  for (const part of ['s="ok"', 'ip="v4">192.0.2.1<', 'ip="v6">2001:db8::1<', "<host:clID>gate-one<"]) {
    assert.ok(xml.includes(part), part);
  }
  const checked = await client.ask(hostFrame("check", "ns1.a.test"));
  assert.match(checked.xml, /avail="0">ns1.a.test<.*In use/);
  assert.match((await client.ask(hostFrame("check", "ns9.a.test"))).xml, /avail="1"/);
  assert.match((await client.ask(infoFrame("a.test"))).xml, /<domain:host>ns1.a.test</);
});

test("keeps a host that a name delegates to, and a name that has hosts below it", async (context) => {
  const { client, other } = await startWithName(context);
  await client.ask(hostFrame("create", "ns1.a.test", v4("192.0.2.1")));
  await client.ask(createFrame("b.test", { ns: hostObjects("ns1.a.test") }));
  assert.match((await client.ask(hostFrame("info", "ns1.a.test"))).xml, /s="ok".*s="linked"/);
  await assertCodes(other, [[2201, hostFrame("delete", "ns1.a.test")]]);
  await assertCodes(client, [
    [2305, hostFrame("delete", "ns1.a.test")],
    [2305, deleteFrame("a.test")],
    [1000, updateFrame("b.test", `<domain:rem>${hostObjects("ns1.a.test")}</domain:rem>`)],
    [1000, hostFrame("delete", "ns1.a.test")],
    [2303, hostFrame("delete", "ns1.a.test")],
    [1000, deleteFrame("a.test")],
  ]);
});

test("changes a host's addresses, statuses and name, or nothing at all", async (context) => {
  const { client, other } = await startWithName(context);
  await client.ask(hostFrame("create", "ns1.a.test", v4("192.0.2.1")));
  await client.ask(createFrame("b.test", { ns: hostObjects("ns1.a.test") }));
  const lock = '<host:status s="clientUpdateProhibited"/>';
  await assertCodes(client, [
    [2003, hostFrame("update", "ns1.a.test")],
    [2306, hostFrame("update", "ns1.a.test", rem(v4("192.0.2.9")))],
    [2003, hostFrame("update", "ns1.a.test", rem(v4("192.0.2.1")))],
    [2306, hostFrame("update", "ns1.a.test", add(v4("192.0.2.1")))],
    [2306, hostFrame("update", "ns1.a.test", chg("ns1.example.net"))],
    [2303, hostFrame("update", "ns1.a.test", chg("ns1.nobody.test"))],
    [1000, hostFrame("update", "ns1.a.test", add(v6("2001:db8::1")) + rem(v4("192.0.2.1")) + chg("ns2.a.test"))],
    [2303, hostFrame("info", "ns1.a.test")],
    [1000, hostFrame("update", "ns2.a.test", add(lock))],
    [2304, hostFrame("update", "ns2.a.test", add(v4("192.0.2.2")))],
    [1000, hostFrame("update", "ns2.a.test", rem(lock))],
  ]);
  assert.match((await client.ask(infoFrame("b.test"))).xml, /<domain:hostObj>ns2.a.test</);
  assert.match((await client.ask(hostFrame("info", "ns2.a.test"))).xml, /<host:addr ip="v6">2001:db8::1</);
  await other.ask(createFrame("c.test", { ns: hostObjects("ns2.a.test") }));
  await assertCodes(client, [
    [1000, hostFrame("update", "ns2.a.test", rem(v6("2001:db8::1")) + chg("ns2.example.net"))],
    [2305, hostFrame("update", "ns2.example.net", chg("ns3.example.net"))],
  ]);
  assert.match((await other.ask(infoFrame("c.test"))).xml, /<domain:hostObj>ns2.example.net</);
});

test("removes the hosts below a name with it, also from delegations to them", async (context) => {
  const { registry, client } = await startWithClient(context, { atExpiry: "expire" }, withHosts);
  await client.ask(createFrame("a.test"));
  await client.ask(hostFrame("create", "ns1.a.test", v4("192.0.2.1")));
  await client.ask(hostFrame("create", "ns1.example.net"));
  const period = '<domain:period unit="y">2</domain:period>';
  await client.ask(createFrame("b.test", { period, ns: hostObjects("ns1.a.test", "ns1.example.net") }));
  await registry.advance(410 * dayMs);
  await assertCodes(client, [
    [2303, infoFrame("a.test")],
    [2303, hostFrame("info", "ns1.a.test")],
  ]);
  const { xml } = await client.ask(infoFrame("b.test"));
  assert.deepEqual(
    [...xml.matchAll(/<domain:hostObj>([^<]*)</g)].map((match) => match[1]),
    ["ns1.example.net"],
  );
});

test("refuses host objects if name servers are attributes, and attributes if they are objects", async (context) => {
  const attribute = (host: string, addresses = "") =>
    `<domain:ns><domain:hostAttr><domain:hostName>${host}</domain:hostName>${addresses}</domain:hostAttr></domain:ns>`;
  const glue = '<domain:hostAddr ip="v4">192.0.2.1</domain:hostAddr>';
  const { client } = await startWithClient(context, { hostModel: "attributes" });
  await assertCodes(client, [
    [2307, hostFrame("create", "ns1.example.net")],
    [2306, createFrame("a.test", { ns: hostObjects("ns1.example.net") })],
    [2306, createFrame("a.test", { ns: attribute("ns1.example.net", glue) })],
    [2003, createFrame("a.test", { ns: attribute("ns1.a.test") })],
    [1000, createFrame("a.test", { ns: attribute("ns1.a.test", glue) })],
    [2306, updateFrame("a.test", `<domain:add>${attribute("ns1.a.test", glue)}</domain:add>`)],
    [1000, updateFrame("a.test", `<domain:add>${attribute("ns1.example.net")}</domain:add>`)],
    [1000, updateFrame("a.test", `<domain:rem>${attribute("ns1.a.test")}</domain:rem>`)],
  ]);
  const objects = await startWithClient(context);
  await assertCodes(objects.client, [[2306, createFrame("a.test", { ns: attribute("ns1.example.net") })]]);
});

test("registers names without contacts at a thin registry, and with none", async (context) => {
  const { client } = await startWithClient(context, { dataModel: "thin" }, { objects: [domainUri, hostUri] });
  const tech = '<domain:contact type="tech">reg-1</domain:contact>';
  await assertCodes(client, [
    [2307, contactFrame("info", "reg-1")],
    [2306, createFrame("a.test")],
    [2306, createFrame("a.test", { registrant: "", contacts: tech })],
    [1000, createFrame("a.test", { registrant: "" })],
    [2306, updateFrame("a.test", `<domain:add>${tech}</domain:add>`)],
    [2306, updateFrame("a.test", "<domain:chg><domain:registrant>reg-1</domain:registrant></domain:chg>")],
  ]);
  assert.ok(!(await client.ask(infoFrame("a.test"))).xml.includes("registrant"));
  client.send(commandFrame("<logout/>"));
  assert.match((await client.receive()) ?? "", /1500/);
});
