import assert from "node:assert/strict";
import { test } from "node:test";
import { encodeFrame } from "./framing.ts";
import {
  checkFrame,
  commandFrame,
  contactCreateFrame,
  createFrame,
  domainUri,
  helloFrame,
  infoFrame,
  loginFrame,
  logoutFrame,
} from "./test/frames.ts";
import { RawClient, textOf } from "./test/raw-client.ts";
import { registrars, startFor, startWithClient } from "./test/setup.ts";

test("greets a new connection, and a hello, with the services it offers", async (context) => {
  const registry = await startFor(context);
  const client = await RawClient.connect(registry.port, registry.caFile);
  const first = await client.receive();
  assert.match(first ?? "", /<greeting>.*<objURI>urn:ietf:params:xml:ns:domain-1.0<\/objURI>/s);
  client.send(helloFrame);
  assert.match((await client.receive()) ?? "", /<greeting>/);
  client.close();
});

test("refuses every command but login before a login with 2002", async (context) => {
  const registry = await startFor(context);
  const client = await RawClient.connect(registry.port, registry.caFile);
  await client.receive();
  assert.equal((await client.ask(checkFrame("a.test"))).code, 2002);
  assert.equal((await client.ask(logoutFrame)).code, 2002);
  assert.equal((await client.ask(loginFrame("gate-one", "secret-1"))).code, 1000);
  client.close();
});

test("refuses a second login on a connection with 2002", async (context) => {
  const { client } = await startWithClient(context);
  assert.equal((await client.ask(loginFrame("gate-one", "secret-1"))).code, 2002);
});

test("answers a wrong password with 2200, and the third one with 2501 and the end", async (context) => {
  const registry = await startFor(context);
  const client = await RawClient.connect(registry.port, registry.caFile);
  await client.receive();
  assert.equal((await client.ask(loginFrame("gate-one", "wrong-1"))).code, 2200);
  assert.equal((await client.ask(loginFrame("nobody", "secret-1"))).code, 2200);
  assert.equal((await client.ask(loginFrame("gate-one", "wrong-1"))).code, 2501);
  assert.equal(await client.receive(), undefined);
});

test("refuses a language, an object or an extension it does not serve at login", async (context) => {
  const registry = await startFor(context, { hostModel: "attributes" });
  const client = await RawClient.connect(registry.port, registry.caFile);
  await client.receive();
  const codes: number[] = [];
  for (const changes of [
    { language: "fr" },
    { objects: ["urn:ietf:params:xml:ns:host-1.0"] },
    { extension: "urn:ietf:params:xml:ns:launch-1.0" },
  ]) {
    codes.push((await client.ask(loginFrame("gate-one", "secret-1", changes))).code);
  }
  assert.deepEqual(codes, [2102, 2307, 2103]);
  client.close();
});

test("accepts the new password of a login, and no longer the old one", async (context) => {
  const registry = await startFor(context);
  const client = await RawClient.connect(registry.port, registry.caFile);
  await client.receive();
  await client.ask(loginFrame("gate-one", "secret-1", { newPassword: "changed-1" }));
  client.close();
  await assert.rejects(RawClient.login(registry), /2200/);
  (await RawClient.login(registry, "gate-one", "changed-1")).close();
});

test("refuses a login beyond the sessions a registrar may have with 2502", async (context) => {
  const registry = await startFor(context, { sessionsMax: 1 });
  const first = await RawClient.login(registry);
  await assert.rejects(RawClient.login(registry), /2502/);
  (await RawClient.login(registry, "gate-two", "secret-2")).close();
  first.close();
});

test("answers logout with 1500 and ends the connection", async (context) => {
  const { client } = await startWithClient(context);
  assert.equal((await client.ask(logoutFrame)).code, 1500);
  assert.equal(await client.receive(), undefined);
});

test("returns the clTRID and never repeats an svTRID", async (context) => {
  const { client } = await startWithClient(context);
  const first = await client.ask(infoFrame("a.test"));
  const second = await client.ask(infoFrame("a.test"));
  assert.equal(first.clTRID, "test-1");
  assert.notEqual(first.svTRID, second.svTRID);
});

test("reads a frame that arrives byte by byte, and several that arrive at once, in order", async (context) => {
  const { client } = await startWithClient(context);
  for (const byte of encodeFrame(infoFrame("a.test"))) client.socket.write(Buffer.of(byte));
  assert.equal((await client.answer()).code, 2303);
  client.socket.write(Buffer.concat([createFrame("a.test"), infoFrame("a.test")].map((xml) => encodeFrame(xml))));
  assert.equal((await client.answer()).code, 1000);
  assert.equal(textOf(await client.answer(), "clID"), "gate-one");
});

test("answers an invalid frame length with 2500 and ends the connection", async (context) => {
  const { client } = await startWithClient(context);
  client.socket.write(Buffer.of(0x7f, 0xff, 0xff, 0xff));
  assert.equal((await client.answer()).code, 2500);
  assert.equal(await client.receive(), undefined);
});

test("refuses an invalid frame with 2001 and a reason, and keeps the connection", async (context) => {
  const { client } = await startWithClient(context);
  const frames: [string, RegExp][] = [
    ["no xml", /<reason>/],
    [`<epp xmlns="urn:ietf:params:xml:ns:epp-1.0">${'<hello xmlns:a="a"/>'.repeat(500)}`, /more than 500 namespace/],
    [`<epp ${Array.from({ length: 65 }, (_, index) => `a${index}=""`).join(" ")}`, /more than 64 attributes/],
    ['<!DOCTYPE epp [<!ENTITY e "x">]><epp xmlns="urn:ietf:params:xml:ns:epp-1.0"><hello/></epp>', /document type/],
    [commandFrame("<check/>"), /<reason>Element &apos;|<reason>Element '/],
    [
      commandFrame(
        `<info><domain:check xmlns:domain="${domainUri}"><domain:name>a.test</domain:name></domain:check></info>`,
      ),
      /contains/,
    ],
    [
      '<epp xmlns="urn:ietf:params:xml:ns:epp-1.0"><response><result code="1000"><msg>x</msg></result><trID><svTRID>abc</svTRID></trID></response></epp>',
      /not a command/,
    ],
  ];
  for (const [frame, reason] of frames) {
    const answer = await client.ask(frame);
    assert.equal(answer.code, 2001);
    assert.match(answer.xml, reason);
  }
  client.socket.write(encodeFrame(Buffer.of(0xc3, 0x28)));
  assert.equal((await client.answer()).code, 2001);
  assert.equal((await client.ask(infoFrame("a.test"))).code, 2303);
});

test("refuses an unknown verb, a contact's transfer, an extension and an object with codes of their own", async (context) => {
  const { client } = await startWithClient(context, { hostModel: "attributes", extensions: ["loginSec"] });
  const contact =
    '<contact:transfer xmlns:contact="urn:ietf:params:xml:ns:contact-1.0"><contact:id>reg-1</contact:id></contact:transfer>';
  const host = '<host:info xmlns:host="urn:ietf:params:xml:ns:host-1.0"><host:name>ns.a.test</host:name></host:info>';
  const secDns =
    '<extension><secDNS:update xmlns:secDNS="urn:ietf:params:xml:ns:secDNS-1.1"><secDNS:rem><secDNS:all>true</secDNS:all></secDNS:rem></secDNS:update></extension>';
  const info = `<info><domain:info xmlns:domain="${domainUri}"><domain:name>a.test</domain:name></domain:info></info>`;
  assert.equal((await client.ask(commandFrame("<frobnicate/>"))).code, 2000);
  assert.equal((await client.ask(commandFrame(`<transfer op="request">${contact}</transfer>`))).code, 2101);
  assert.equal((await client.ask(commandFrame(`${info}${secDns}`))).code, 2103);
  assert.equal((await client.ask(commandFrame(`<info>${host}</info>`))).code, 2307);
});

test("refuses extensions and objects of unknown namespaces before it validates the frame", async (context) => {
  const { client } = await startWithClient(context);
  const info = `<info><domain:info xmlns:domain="${domainUri}"><domain:name>a.test</domain:name></domain:info></info>`;
  const frames: [number, string][] = [
    [2103, `${info}<extension><x:data xmlns:x="urn:example:x-1.0"><x:any/></x:data></extension>`],
    [
      2103,
      `<info><domain:info xmlns:domain="${domainUri}"/></info><extension><x:data xmlns:x="urn:example:x-1.0"/></extension>`,
    ],
    [2307, '<info><item:info xmlns:item="urn:example:item-1.0"><item:name>a</item:name></item:info></info>'],
    [2000, '<frobnicate><item:info xmlns:item="urn:example:item-1.0"/></frobnicate>'],
    [2001, '<info><info xmlns=""/></info>'],
  ];
  for (const [code, content] of frames) {
    const answer = await client.ask(commandFrame(content));
    assert.deepEqual([answer.code, answer.clTRID], [code, "test-1"], content);
  }
  assert.match((await client.ask(commandFrame(frames[0]![1]))).xml, /<reason>urn:example:x-1\.0</);
});

test("serves only the objects that the login requested", async (context) => {
  const registry = await startFor(context);
  const client = await RawClient.connect(registry.port, registry.caFile);
  await client.receive();
  await client.ask(loginFrame("gate-one", "secret-1", { objects: [domainUri] }));
  assert.equal((await client.ask(contactCreateFrame("reg-1"))).code, 2002);
  client.close();
});

test("journals each frame once with its outcome, and without any password", async (context) => {
  const { registry, client } = await startWithClient(context);
  await client.ask(createFrame("a.test", { clTRID: "order-1", authInfo: "hidden-auth" }));
  await client.ask(infoFrame("a.test"));
  await client.ask(loginFrame("gate-one", "hid").replace("test-1", "x"));
  const all = registry.store.journal.entries();
  const creates = all.filter((entry) => entry.command === "domain:create" && entry.direction === "in");
  assert.deepEqual(
    creates.map(({ clTRID, code, executed, registrar, name }) => ({ clTRID, code, executed, registrar, name })),
    [{ clTRID: "order-1", code: 1000, executed: true, registrar: "gate-one", name: "a.test" }],
  );
  assert.equal(all.filter((entry) => entry.executed && entry.command === "domain:create").length, 1);
  const text = JSON.stringify(all);
  for (const { password } of registrars) assert.ok(!text.includes(password));
  for (const secret of ["hidden-auth", "contact-auth", ">hid<"]) assert.ok(!text.includes(secret), secret);
});
