import assert from "node:assert/strict";
import { test } from "node:test";
import {
  checkFrame,
  contactCreateFrame,
  contactUpdateFrame,
  contactUri,
  createFrame,
  deleteFrame,
  domainUri,
  hostFrame,
  hostObjects,
  hostUri,
  infoFrame,
  renewFrame,
  updateFrame,
} from "./test/frames.ts";
import { RawClient, textOf } from "./test/raw-client.ts";
import { startWithClient } from "./test/setup.ts";

const withHosts = { objects: [domainUri, contactUri, hostUri] };
const now = () => new Date("2028-02-29T10:00:00Z");

test("creates a name for one year from now, and shows it whole to its sponsor", async (context) => {
  const { client } = await startWithClient(context, { now }, withHosts);
  await client.ask(hostFrame("create", "ns1.example.net"));
  const created = await client.ask(
    createFrame("Shop.test", {
      ns: hostObjects("ns1.example.net"),
      contacts: '<domain:contact type="admin">reg-1</domain:contact>',
    }),
  );
  assert.equal(created.code, 1000);
  assert.equal(textOf(created, "name"), "shop.test");
  assert.equal(textOf(created, "exDate"), "2029-02-28T10:00:00.000Z");
  const info = await client.ask(infoFrame("shop.test"));
  for (const part of [
    '<domain:status s="ok"/>',
    "<domain:registrant>reg-1</domain:registrant>",
    '<domain:contact type="admin">reg-1</domain:contact>',
    "<domain:hostObj>ns1.example.net</domain:hostObj>",
    "<domain:crDate>2028-02-29T10:00:00.000Z</domain:crDate>",
    "<domain:pw>auth-1</domain:pw>",
  ]) {
    assert.ok(info.xml.includes(part), part);
  }
});

test("returns name servers with their addresses, and shows a name without delegation as inactive", async (context) => {
  const { client } = await startWithClient(context, { hostModel: "attributes" });
  const ns =
    "<domain:ns><domain:hostAttr><domain:hostName>ns1.a.test</domain:hostName>" +
    '<domain:hostAddr ip="v4">192.0.2.1</domain:hostAddr></domain:hostAttr></domain:ns>';
  await client.ask(createFrame("a.test", { ns }));
  await client.ask(createFrame("b.test"));
  assert.ok((await client.ask(infoFrame("a.test"))).xml.includes(ns));
  assert.match((await client.ask(infoFrame("b.test"))).xml, /<domain:status s="inactive"\/>/);
});

test("shows in a check which names are in use and which can't be registered", async (context) => {
  const { client } = await startWithClient(context);
  await client.ask(createFrame("used.test"));
  const { xml, code } = await client.ask(checkFrame("used.test", "free.test", "deep.free.test", "a.org", "-a.test"));
  assert.equal(code, 1000);
  assert.deepEqual(
    [...xml.matchAll(/avail="(\d)">([^<]*)<\/domain:name>(?:<domain:reason>([^<]*))?/g)].map((match) =>
      match.slice(1, 4),
    ),
    [
      ["0", "used.test", "In use"],
      ["1", "free.test", undefined],
      ["0", "deep.free.test", "Suffix not served"],
      ["0", "a.org", "Suffix not served"],
      ["0", "-a.test", "Invalid domain name"],
    ],
  );
});

test("refuses an invalid create with the code of its mistake", async (context) => {
  const { client } = await startWithClient(context);
  const period = (unit: string, count: number) => `<domain:period unit="${unit}">${count}</domain:period>`;
  await client.ask(createFrame("used.test"));
  const cases: [number, string][] = [
    [2302, createFrame("used.test")],
    [2005, createFrame("a_b.test")],
    [2005, createFrame("ab--c.test")],
    [2306, createFrame("a.org")],
    [2306, createFrame("a.test", { period: period("y", 11) })],
    [2306, createFrame("a.test", { period: period("m", 18) })],
    [2303, createFrame("a.test", { registrant: "nobody" })],
    [2003, createFrame("a.test", { registrant: "" })],
    [2303, createFrame("a.test", { contacts: '<domain:contact type="tech">nobody</domain:contact>' })],
    [2005, createFrame("a.test", { ns: hostObjects("not_a_host") })],
    [2303, createFrame("a.test", { ns: hostObjects("ns1.example.net") })],
    [1000, createFrame("a.test", { period: period("m", 24) })],
    [1000, createFrame("xn--bcher-kva.co.test", { period: period("y", 10) })],
  ];
  for (const [code, frame] of cases) assert.equal((await client.ask(frame)).code, code, frame);
});

test("shows another registrar's name without its authInfo, unless it is presented", async (context) => {
  const { registry, client } = await startWithClient(context);
  await client.ask(createFrame("a.test"));
  const other = await RawClient.login(registry, "gate-two", "secret-2");
  const plain = await other.ask(infoFrame("a.test"));
  assert.equal(plain.code, 1000);
  assert.equal(textOf(plain, "clID"), "gate-one");
  assert.ok(!plain.xml.includes("authInfo"));
  assert.equal((await other.ask(infoFrame("a.test", "guess-1"))).code, 2202);
  assert.match((await other.ask(infoFrame("a.test", "auth-1"))).xml, /<domain:pw>auth-1</);
  assert.equal((await other.ask(infoFrame("b.test"))).code, 2303);
  const none = "<domain:chg><domain:authInfo><domain:null/></domain:authInfo></domain:chg>";
  assert.equal((await client.ask(updateFrame("a.test", none))).code, 1000);
  const empty = infoFrame("a.test", "-").replace("<domain:pw>-<", "<domain:pw><");
  assert.equal((await other.ask(empty)).code, 2202);
  other.close();
});

test("lets only the sponsor change, renew or delete a name: 2201 for others, 2303 for no name", async (context) => {
  const { registry, client } = await startWithClient(context);
  await client.ask(createFrame("a.test"));
  const other = await RawClient.login(registry, "gate-two", "secret-2");
  const chg = "<domain:chg><domain:authInfo><domain:pw>new-auth</domain:pw></domain:authInfo></domain:chg>";
  for (const frame of [deleteFrame("a.test"), renewFrame("a.test", "2030-01-01"), updateFrame("a.test", chg)]) {
    assert.equal((await other.ask(frame)).code, 2201);
    assert.equal((await client.ask(frame.replace("a.test", "b.test"))).code, 2303);
  }
  assert.equal((await client.ask(deleteFrame("a.test"))).code, 1000);
  assert.equal((await client.ask(infoFrame("a.test"))).code, 2303);
  other.close();
});

test("renews once for a repeated renew, and never beyond ten years", async (context) => {
  const { client } = await startWithClient(context, { now });
  await client.ask(createFrame("a.test"));
  const renewed = await client.ask(renewFrame("a.test", "2029-02-28", 2));
  assert.equal(textOf(renewed, "exDate"), "2031-02-28T10:00:00.000Z");
  assert.equal((await client.ask(renewFrame("a.test", "2029-02-28", 2))).code, 2004);
  assert.equal((await client.ask(renewFrame("a.test", "2031-02-28", 11))).code, 2306);
  assert.equal((await client.ask(renewFrame("a.test", "2031-02-28", 8))).code, 2105);
  assert.equal(textOf(await client.ask(infoFrame("a.test")), "exDate"), "2031-02-28T10:00:00.000Z");
});

test("obeys the statuses that a client sets, and lets it remove them", async (context) => {
  const { client } = await startWithClient(context, { now });
  await client.ask(createFrame("a.test"));
  const status = (verb: string, name: string) => `<domain:${verb}><domain:status s="${name}"/></domain:${verb}>`;
  const lock = ["clientDeleteProhibited", "clientRenewProhibited", "clientUpdateProhibited"];
  for (const name of lock) assert.equal((await client.ask(updateFrame("a.test", status("add", name)))).code, 1000);
  assert.equal((await client.ask(deleteFrame("a.test"))).code, 2304);
  assert.equal((await client.ask(renewFrame("a.test", "2029-02-28"))).code, 2304);
  assert.equal((await client.ask(updateFrame("a.test", status("add", "clientHold")))).code, 2304);
  for (const name of lock.reverse()) {
    assert.equal((await client.ask(updateFrame("a.test", status("rem", name)))).code, 1000);
  }
  assert.equal((await client.ask(updateFrame("a.test", status("add", "serverHold")))).code, 2306);
  assert.equal((await client.ask(deleteFrame("a.test"))).code, 1000);
});

test("updates name servers, contacts, registrant and authInfo, or nothing at all", async (context) => {
  const { client } = await startWithClient(context, {}, withHosts);
  await client.ask(contactCreateFrame("reg-2"));
  await client.ask(hostFrame("create", "ns1.b.example"));
  await client.ask(createFrame("a.test"));
  const ns = hostObjects("ns1.b.example");
  const add = `<domain:add>${ns}<domain:contact type="tech">reg-2</domain:contact></domain:add>`;
  const chg =
    "<domain:chg><domain:registrant>reg-2</domain:registrant><domain:authInfo><domain:pw>new-auth</domain:pw></domain:authInfo></domain:chg>";
  assert.equal((await client.ask(updateFrame("a.test", add + chg))).code, 1000);
  const badChg = "<domain:chg><domain:registrant>nobody</domain:registrant></domain:chg>";
  const rem = `<domain:rem>${ns}</domain:rem>`;
  assert.equal((await client.ask(updateFrame("a.test", rem + badChg))).code, 2303);
  const { xml } = await client.ask(infoFrame("a.test"));
  for (const part of [
    "ns1.b.example",
    '<domain:contact type="tech">reg-2',
    ":registrant>reg-2",
    "new-auth",
    "upDate",
  ]) {
    assert.ok(xml.includes(part), part);
  }
  assert.equal((await client.ask(updateFrame("a.test", rem))).code, 1000);
  assert.equal((await client.ask(updateFrame("a.test", rem))).code, 2306);
  assert.equal((await client.ask(updateFrame("a.test", ""))).code, 2003);
});

test("refuses to add what is set already and to remove what is not, of names, hosts and contacts", async (context) => {
  const { client } = await startWithClient(context, {}, withHosts);
  await client.ask(createFrame("a.test"));
  await client.ask(hostFrame("create", "ns1.a.test", '<host:addr ip="v4">192.0.2.1</host:addr>'));
  const tech = '<domain:contact type="tech">reg-1</domain:contact>';
  const hold = '<domain:status s="clientHold"/>';
  const update = (object: string, name: string, verb: string, content: string) => {
    const change = `<${object}:${verb}>${content}</${object}:${verb}>`;
    if (object === "domain") return updateFrame(name, change);
    return object === "host" ? hostFrame("update", name, change) : contactUpdateFrame(name, change);
  };
  const lock = (object: string) => `<${object}:status s="clientDeleteProhibited"/>`;
  const parts: [string, string, string][] = [
    ["domain", "a.test", tech],
    ["domain", "a.test", hold],
    ["domain", "a.test", hostObjects("ns1.a.test")],
    ["host", "ns1.a.test", lock("host")],
    ["host", "ns1.a.test", '<host:addr ip="v4">192.0.2.2</host:addr>'],
    ["contact", "reg-1", lock("contact")],
  ];
  for (const [object, name, part] of parts) {
    const codes: number[] = [];
    for (const verb of ["rem", "add", "add", "rem", "rem"]) {
      codes.push((await client.ask(update(object, name, verb, part))).code);
    }
    assert.deepEqual(codes, [2306, 1000, 2306, 1000, 2306], part);
  }
  assert.equal((await client.ask(update("domain", "a.test", "add", tech + tech))).code, 2306);
});

test("reads elements by namespace, whatever their prefix", async (context) => {
  const { client } = await startWithClient(context);
  const frame = createFrame("a.test").replaceAll("domain:", "d:").replace("xmlns:domain", "xmlns:d");
  assert.equal((await client.ask(frame)).code, 1000);
  const bare = `<e:epp xmlns:e="urn:ietf:params:xml:ns:epp-1.0"><e:command><e:info><info xmlns="${domainUri}"><name>a.test</name></info></e:info></e:command></e:epp>`;
  const info = await client.ask(bare);
  assert.equal(info.code, 1000);
  assert.equal(info.clTRID, undefined);
});

test("registers a name for one of two concurrent clients", async (context) => {
  const { registry, client } = await startWithClient(context);
  const other = await RawClient.login(registry, "gate-two", "secret-2");
  const answers = await Promise.all([client, other].map((wanting) => wanting.ask(createFrame("a.test"))));
  assert.deepEqual(answers.map(({ code }) => code).sort(), [1000, 2302]);
  other.close();
});
