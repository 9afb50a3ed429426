import assert from "node:assert/strict";
import { test } from "node:test";
import { contactCreateFrame, contactFrame, contactUpdateFrame, createFrame, deleteFrame } from "./test/frames.ts";
import { RawClient } from "./test/raw-client.ts";
import { startWithClient } from "./test/setup.ts";

test("returns a contact as it was created, to registrars that may see it", async (context) => {
  const { registry, client } = await startWithClient(context);
  const { code, xml } = await client.ask(contactFrame("info", "reg-1"));
  assert.equal(code, 1000);
  for (const part of [
    '<contact:status s="ok"/>',
    '<contact:voice x="12">+31.201234567</contact:voice>',
    "<contact:street>Dam 1</contact:street><contact:city>Amsterdam</contact:city><contact:pc>1012 JS</contact:pc>",
    "<contact:pw>contact-auth</contact:pw>",
  ]) {
    assert.ok(xml.includes(part), part);
  }
  const other = await RawClient.login(registry, "gate-two", "secret-2");
  assert.equal((await other.ask(contactFrame("info", "reg-1"))).code, 2201);
  assert.equal((await other.ask(contactFrame("info", "reg-1", "guess-1"))).code, 2202);
  assert.equal((await other.ask(contactFrame("info", "reg-1", "contact-auth"))).code, 1000);
  assert.equal((await other.ask(contactFrame("delete", "reg-1"))).code, 2201);
  other.close();
});

test("refuses an id twice, a country that is not two capitals, and an address without @", async (context) => {
  const { client } = await startWithClient(context);
  assert.equal((await client.ask(contactCreateFrame("reg-1"))).code, 2302);
  assert.equal((await client.ask(contactCreateFrame("reg-2", { cc: "nl" }))).code, 2005);
  assert.equal((await client.ask(contactCreateFrame("reg-2", { email: "nobody" }))).code, 2005);
  assert.match((await client.ask(contactFrame("check", "reg-1"))).xml, /avail="0">reg-1/);
  assert.match((await client.ask(contactFrame("check", "reg-2"))).xml, /avail="1">reg-2/);
});

test("keeps a contact while a domain uses it: linked, delete 2305", async (context) => {
  const { client } = await startWithClient(context);
  await client.ask(createFrame("a.test"));
  assert.match((await client.ask(contactFrame("info", "reg-1"))).xml, /s="linked"/);
  assert.equal((await client.ask(contactFrame("delete", "reg-1"))).code, 2305);
  await client.ask(deleteFrame("a.test"));
  assert.equal((await client.ask(contactFrame("delete", "reg-1"))).code, 1000);
  assert.equal((await client.ask(contactFrame("info", "reg-1"))).code, 2303);
});

test("changes only the fields that an update names", async (context) => {
  const { client } = await startWithClient(context);
  const chg =
    '<contact:chg><contact:postalInfo type="int"><contact:org>New Org</contact:org></contact:postalInfo><contact:voice/>' +
    "<contact:email>new@example.test</contact:email></contact:chg>";
  assert.equal((await client.ask(contactUpdateFrame("reg-1", chg))).code, 1000);
  const { xml } = await client.ask(contactFrame("info", "reg-1"));
  assert.match(xml, /<contact:name>Ada Example<\/contact:name><contact:org>New Org</);
  assert.match(xml, /new@example.test/);
  assert.ok(!xml.includes("contact:voice"));
  const half =
    '<contact:chg><contact:postalInfo type="loc"><contact:org>X</contact:org></contact:postalInfo></contact:chg>';
  assert.equal((await client.ask(contactUpdateFrame("reg-1", half))).code, 2003);
  assert.equal((await client.ask(contactUpdateFrame("reg-1", ""))).code, 2003);
});

test("obeys the statuses a client sets on a contact", async (context) => {
  const { client } = await startWithClient(context);
  const status = (verb: string, name: string) => `<contact:${verb}><contact:status s="${name}"/></contact:${verb}>`;
  const locks = status("add", "clientDeleteProhibited");
  assert.equal((await client.ask(contactUpdateFrame("reg-1", locks))).code, 1000);
  assert.equal((await client.ask(contactFrame("delete", "reg-1"))).code, 2304);
  await client.ask(contactUpdateFrame("reg-1", status("add", "clientUpdateProhibited")));
  assert.equal((await client.ask(contactUpdateFrame("reg-1", status("rem", "clientDeleteProhibited")))).code, 2304);
  assert.equal((await client.ask(contactUpdateFrame("reg-1", status("rem", "clientUpdateProhibited")))).code, 1000);
  assert.equal((await client.ask(contactUpdateFrame("reg-1", status("add", "linked")))).code, 2306);
});
