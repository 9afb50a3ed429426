import assert from "node:assert/strict";
import { test } from "node:test";
import {
  checkFrame,
  commandFrame,
  contactCreateFrame,
  contactUri,
  createFrame,
  deleteFrame,
  extended,
  infoFrame,
  secDnsUri,
  transferFrame,
  updateFrame,
} from "./test/frames.ts";
import { textOf } from "./test/raw-client.ts";
import { startWithClient } from "./test/setup.ts";

const namestoreUri = "http://www.verisign-grs.com/epp/namestoreExt-1.1";
const contactExtUri = "http://www.eurid.eu/xml/epp/contact-ext-1.3";
const domainExtUri = "http://www.eurid.eu/xml/epp/domain-ext-2.4";
const authInfoUri = "http://www.eurid.eu/xml/epp/authInfo-1.1";
const subProduct = (name: string) =>
  `<n:namestoreExt xmlns:n="${namestoreUri}"><n:subProduct>${name}</n:subProduct></n:namestoreExt>`;
const contactOf = (id: string, content: string) =>
  extended(contactCreateFrame(id), `<c:create xmlns:c="${contactExtUri}">${content}</c:create>`);
const withoutSecret = (frame: string) => frame.replace(/<(\w+):pw>[^<]*<\/\1:pw>/, "<$1:pw/>");
const typed = (id: string, type: string) => contactOf(id, `<c:type>${type}</c:type><c:lang>en</c:lang>`);

test("namestoreExt: every command about an object names the sub-product", async (context) => {
  const extensions = ["namestoreExt"] as const;
  const { client } = await startWithClient(context, { extensions }, { extension: namestoreUri });
  for (const frame of [checkFrame("a.test"), contactCreateFrame("reg-2"), infoFrame("a.test")]) {
    assert.equal((await client.ask(frame)).code, 2003);
    assert.equal((await client.ask(extended(frame, subProduct("OTHER")))).code, 2306);
    assert.match(String((await client.ask(extended(frame, subProduct("SANDBOX")))).code), /1000|2303/);
  }
});

test("contact-ext: a contact has a type, and serves names in that role alone", async (context) => {
  const extensions = ["contact-ext"] as const;
  const { client } = await startWithClient(context, { extensions }, { extension: contactExtUri });
  const codes = async (...frames: string[]) => {
    const answers = [];
    for (const frame of frames) answers.push((await client.ask(frame)).code);
    return answers;
  };
  assert.deepEqual(
    await codes(
      contactCreateFrame("plain"),
      contactOf("no-lang", "<c:type>tech</c:type>"),
      typed("odd", "friend"),
      typed("reg-2", "registrant"),
      typed("tech-2", "tech"),
    ),
    [2003, 2003, 2005, 1000, 1000],
  );
  const tech = (id: string) => `<domain:contact type="tech">${id}</domain:contact>`;
  assert.deepEqual(
    await codes(
      createFrame("a.test", { registrant: "tech-2" }),
      createFrame("a.test", { registrant: "reg-2", contacts: tech("reg-2") }),
      createFrame("a.test", { registrant: "reg-2" }),
      updateFrame("a.test", `<domain:add>${tech("reg-2")}</domain:add>`),
      updateFrame("a.test", `<domain:add>${tech("tech-2")}</domain:add>`),
    ),
    [2306, 2306, 1000, 2306, 1000],
  );
});

test("authInfo: the registry issues a code to the registrar that asks for it in an info, until it is cancelled", async (context) => {
  const options = { extensions: ["authInfo"], authInfo: "registry" } as const;
  const { client } = await startWithClient(context, options, { extension: authInfoUri });
  await client.ask(createFrame("a.test"));
  const asking = (what: string) =>
    extended(infoFrame("a.test"), `<i:info xmlns:i="${authInfoUri}"><i:${what}/></i:info>`);
  assert.ok(!(await client.ask(infoFrame("a.test"))).xml.includes("<domain:pw>"));
  const issued = await client.ask(asking("request"));
  assert.match(textOf(issued, "pw") ?? "", /^ISSU-\d+$/);
  assert.match(issued.xml, /validUntil>\d{4}-/);
  assert.equal(textOf(await client.ask(infoFrame("a.test")), "pw"), textOf(issued, "pw"));
  assert.ok(!(await client.ask(asking("cancel"))).xml.includes("<domain:pw>"));
});

test("domain-ext: an info shows a deleted name in quarantine, and by no status", async (context) => {
  const extensions = ["domain-ext"] as const;
  const { registry, client } = await startWithClient(context, { extensions }, { extension: domainExtUri });
  await client.ask(createFrame("a.test"));
  assert.match((await client.ask(infoFrame("a.test"))).xml, /quarantined>false</);
  await registry.advance(10 * 24 * 60 * 60_000);
  await client.ask(deleteFrame("a.test"));
  const { xml } = await client.ask(infoFrame("a.test"));
  assert.match(xml, /quarantined>true<.*availableDate>\d{4}-/);
  assert.doesNotMatch(xml, /pendingDelete|redemptionPeriod/);
});

test("family eurid: refuses what EURid does not have, and keeps a deleted name in quarantine", async (context) => {
  const extension = [contactExtUri, domainExtUri, authInfoUri, secDnsUri];
  const { registry, client } = await startWithClient(context, { family: "eurid" }, { extension });
  const code = async (frame: string) => (await client.ask(frame)).code;
  const contactAs = async (type: string) => {
    const frame = withoutSecret(typed("ours", type)).replace('type="int"', 'type="loc"');
    return textOf(await client.ask(frame), "id") ?? "";
  };
  assert.equal(await code(withoutSecret(typed("ours", "tech"))), 2306, "an address in the int form");
  assert.equal(await code(typed("ours", "tech").replace('type="int"', 'type="loc"')), 2306, "an authInfo of ours");
  const [registrant, billing, tech] = [
    await contactAs("registrant"),
    await contactAs("billing"),
    await contactAs("tech"),
  ];
  const ids: Record<string, string> = { billing, tech, admin: tech };
  const contacts = (...types: string[]) =>
    types.map((type) => `<domain:contact type="${type}">${ids[type]}</domain:contact>`).join("");
  const create = (types: string[], change = withoutSecret) =>
    change(
      createFrame("a.test", {
        registrant,
        contacts: contacts(...types),
        period: '<domain:period unit="y">1</domain:period>',
      }),
    );
  assert.equal(await code(create(["tech"])), 2003, "no billing contact");
  assert.equal(await code(create(["billing", "tech", "admin"])), 2306, "an admin contact");
  assert.equal(await code(create(["billing", "tech"], (frame) => frame)), 2306, "an authInfo of ours");
  assert.equal(await code(create(["billing", "tech"])), 1000);
  assert.equal(await code(updateFrame("a.test", '<domain:add><domain:status s="clientHold"/></domain:add>')), 2102);
  assert.equal(
    await code(commandFrame(`<check><c:check xmlns:c="${contactUri}"><c:id>x12</c:id></c:check></check>`)),
    2101,
  );
  assert.equal(await code(transferFrame("query", "a.test")), 2101);
  assert.equal(await code(deleteFrame("a.test")), 1000);
  assert.match((await client.ask(infoFrame("a.test"))).xml, /quarantined>true</);
  await registry.advance(41 * 24 * 60 * 60_000);
  assert.equal(await code(infoFrame("a.test")), 2303);
});
