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

test("family dnsbe: an account has its billing contact, and no update changes a registrant or a contact's status", async (context) => {
  const uri = "http://www.dns.be/xml/epp/dnsbe-1.0";
  const { registry, client } = await startWithClient(context, { family: "dnsbe" }, { extension: [uri] });
  const code = async (frame: string) => (await client.ask(frame)).code;
  const contactAs = (type: string, form = "loc") =>
    extended(
      contactCreateFrame("ours").replace('type="int"', `type="${form}"`),
      `<d:ext xmlns:d="${uri}"><d:create><d:contact><d:type>${type}</d:type><d:lang>en</d:lang></d:contact></d:create></d:ext>`,
    );
  const idAs = async (type: string) => textOf(await client.ask(contactAs(type)), "id") ?? "";
  assert.equal(await code(contactCreateFrame("ours").replace('type="int"', 'type="loc"')), 2003, "no type");
  assert.equal(await code(contactAs("tech", "int")), 2306, "an address in the int form");
  assert.equal(await code(contactAs("billing")), 2306, "another billing contact");
  const [registrant, tech] = [await idAs("licensee"), await idAs("tech")];
  const role = (type: string, id: string) => `<domain:contact type="${type}">${id}</domain:contact>`;
  const create = (contacts: string, years = 1) =>
    createFrame("a.test", { registrant, contacts, period: `<domain:period unit="y">${years}</domain:period>` });
  assert.equal(await code(create(role("tech", tech))), 2003, "no billing contact");
  const both = role("billing", "c101") + role("tech", tech);
  assert.equal(await code(create(both, 2)), 2306, "two years");
  assert.equal(await code(create(both)), 1000);
  const change = (part: string) => updateFrame("a.test", part);
  assert.equal(
    await code(change(`<domain:chg><domain:registrant>${registrant}</domain:registrant></domain:chg>`)),
    2306,
  );
  assert.equal(await code(change('<domain:add><domain:status s="clientHold"/></domain:add>')), 2102);
  assert.equal(await code(change('<domain:add><domain:status s="clientTransferProhibited"/></domain:add>')), 1000);
  const status = '<c:add><c:status s="clientUpdateProhibited"/></c:add>';
  const update = `<c:update xmlns:c="${contactUri}"><c:id>${tech}</c:id>${status}</c:update>`;
  assert.equal(await code(commandFrame(`<update>${update}</update>`)), 2306);
  assert.equal(await code(deleteFrame("a.test")), 1000);
  const asked = `<d:ext xmlns:d="${uri}"><d:info><d:domain version="2.0"/></d:info></d:ext>`;
  assert.match((await client.ask(extended(infoFrame("a.test"), asked))).xml, /quarantined>true</);
  await registry.reset();
  assert.ok(registry.store.contacts.find("c101"), "also after a reset");
});

test("family sidn: a contact has a legal form, and a deleted name is not restored by RFC 3915", async (context) => {
  const uri = "http://rxsd.domain-registry.nl/sidn-ext-epp-1.0";
  const rgpUri = "urn:ietf:params:xml:ns:rgp-1.0";
  const { client } = await startWithClient(context, { family: "sidn" }, { extension: [uri, rgpUri] });
  const contactOfForm = (form: string) =>
    extended(
      contactCreateFrame("ours").replace('type="int"', 'type="loc"'),
      `<s:ext xmlns:s="${uri}"><s:create><s:contact><s:legalForm>${form}</s:legalForm></s:contact></s:create></s:ext>`,
    );
  const code = async (frame: string) => (await client.ask(frame)).code;
  assert.equal(await code(contactCreateFrame("ours").replace('type="int"', 'type="loc"')), 2003, "no legal form");
  assert.equal(await code(contactOfForm("LTD")), 2005);
  const registrant = textOf(await client.ask(contactOfForm("PERSOON")), "id") ?? "";
  assert.match(registrant, /^[A-Z]{3}\d{6}-[A-Z0-9]{5}$/);
  const contacts = ["admin", "tech"].map((type) => `<domain:contact type="${type}">${registrant}</domain:contact>`);
  const create = (period: string) => createFrame("a.test", { registrant, contacts: contacts.join(""), period });
  assert.equal(await code(create('<domain:period unit="y">1</domain:period>')), 2306, "a period");
  assert.equal(await code(create("")), 1000);
  assert.equal(await code(deleteFrame("a.test")), 1001);
  const { xml } = await client.ask(infoFrame("a.test"));
  assert.match(xml, /redemptionPeriod/);
  assert.doesNotMatch(xml, /exDate/);
  const restore = `<r:update xmlns:r="${rgpUri}"><r:restore op="request"/></r:update>`;
  assert.equal(await code(extended(updateFrame("a.test", "<domain:chg/>"), restore)), 2101);
});
