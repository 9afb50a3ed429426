import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Secret } from "#lib/secret.ts";
import { domainCheck } from "#registry/epp/commands/domain/check.ts";
import { domainCreate } from "#registry/epp/commands/domain/create.ts";
import { domainDelete } from "#registry/epp/commands/domain/delete.ts";
import { domainInfo } from "#registry/epp/commands/domain/info.ts";
import { domainRenew } from "#registry/epp/commands/domain/renew.ts";
import { domainRestoreReport, domainRestoreRequest } from "#registry/epp/commands/domain/restore.ts";
import { domainTransfer } from "#registry/epp/commands/domain/transfer.ts";
import { domainUpdate } from "#registry/epp/commands/domain/update.ts";
import { assertSame, assertTolerant, followTheSchema, frameOf, read } from "#registry/epp/commands/test-answers.ts";
import { XmlError } from "#registry/epp/xml/xml.ts";

const authInfo = new Secret("2fooBAR<&>");
const name = "example.com";
const create = { name, periodYears: 1, authInfo };
const objects = {
  hostModel: "objects",
  hosts: [
    { name: "ns1.example.net", addresses: [] },
    { name: "ns2.example.net", addresses: ["192.0.2.1"] },
  ],
} as const;
const attributes = {
  hostModel: "attributes",
  hosts: [
    { name: "ns1.example.com", addresses: ["192.0.2.2", "2001:db8::1"] },
    { name: "ns2.example.net", addresses: [] },
  ],
} as const;
const contacts = [
  { type: "admin", id: "sh8013" },
  { type: "tech", id: "sh8013" },
] as const;

followTheSchema({
  "a check": domainCheck(name),
  "an info": domainInfo(name),
  "an info with another's authInfo, about subordinate hosts": domainInfo(name, { authInfo, hosts: "sub" }),
  "a create at a thin registry": domainCreate(create),
  "a create at a thick registry with host objects": domainCreate({
    ...create,
    registrant: "jd1234",
    contacts,
    nameServers: objects,
  }),
  "a create with host attributes": domainCreate({ ...create, nameServers: attributes }),
  "a renew": domainRenew({ name, currentExDate: new Date("2027-01-02T23:59:59Z"), periodYears: 2 }),
  "a delete": domainDelete(name),
  "an update of everything": domainUpdate({
    name,
    add: { nameServers: objects, contacts, statuses: ["clientHold", "clientUpdateProhibited"] },
    remove: { nameServers: attributes, contacts, statuses: ["clientTransferProhibited"] },
    registrant: "sh8013",
    authInfo,
  }),
  "an update that takes registrant and authInfo off": domainUpdate({ name, registrant: "", authInfo: null }),
  "a restore request": domainRestoreRequest(name),
  "a restore report": domainRestoreReport(name, {
    preData: "Pre-delete registration data goes here.",
    postData: "Post-restore registration data goes here.",
    deletedAt: new Date("2003-07-10T22:00:00Z"),
    restoredAt: new Date("2003-07-20T22:00:00Z"),
    reason: "Registrant error.",
    statements: ["This registrar has not restored it for itself.", "This is true."],
    other: "Supporting information goes here.",
  }),
  "a transfer request": domainTransfer("request", { name, periodYears: 1, authInfo }),
  "a transfer query": domainTransfer("query", { name }),
  "a transfer approval": domainTransfer("approve", { name }),
  "a transfer rejection": domainTransfer("reject", { name }),
  "a cancelled transfer": domainTransfer("cancel", { name }),
});

describe("what we send", () => {
  test("renew sends the UTC day of the registry's exDate", () => {
    const request = { name, currentExDate: new Date("2027-01-02T23:30:00-01:00"), periodYears: 1 };
    assert.match(frameOf(domainRenew(request)), /curExpDate>2027-01-03</);
  });

  test("a host object is sent without addresses, a host attribute with all of them", () => {
    assert.doesNotMatch(frameOf(domainCreate({ ...create, nameServers: objects })), /192\.0\.2\.1/);
    const frame = frameOf(domainCreate({ ...create, nameServers: attributes }));
    assert.match(frame, /ip="v4">192\.0\.2\.2<.*ip="v6">2001:db8::1</);
  });

  test("a restore request is an update that changes nothing, with the extension (RFC 3915 §4.2.5)", () => {
    assertSame(
      domainRestoreRequest(name),
      `<epp xmlns="urn:ietf:params:xml:ns:epp-1.0"><command><update>
        <domain:update xmlns:domain="urn:ietf:params:xml:ns:domain-1.0"><domain:name>example.com</domain:name><domain:chg/></domain:update>
        </update><extension><rgp:update xmlns:rgp="urn:ietf:params:xml:ns:rgp-1.0"><rgp:restore op="request"/></rgp:update></extension>
        <clTRID>ABC-12345</clTRID></command></epp>`,
    );
  });

  test("an update removes host objects and adds others (RFC 5731 §3.2.5)", () => {
    const host = (hostName: string) => ({
      hostModel: "objects" as const,
      hosts: [{ name: hostName, addresses: [] }],
    });
    const command = domainUpdate({
      name,
      add: {
        nameServers: host("ns2.example.com"),
        contacts: [{ type: "tech", id: "mak21" }],
        statuses: ["clientHold"],
      },
      remove: {
        nameServers: host("ns1.example.com"),
        contacts: [{ type: "tech", id: "sh8013" }],
        statuses: ["clientUpdateProhibited"],
      },
      registrant: "sh8013",
      authInfo: new Secret("2BARfoo"),
    });
    const d = "domain";
    const parts = (tag: string, ns: string, contact: string, status: string) =>
      `<${d}:${tag}><${d}:ns><${d}:hostObj>${ns}</${d}:hostObj></${d}:ns><${d}:contact type="tech">${contact}</${d}:contact><${d}:status s="${status}"/></${d}:${tag}>`;
    assertSame(
      command,
      `<epp xmlns="urn:ietf:params:xml:ns:epp-1.0"><command><update><${d}:update xmlns:${d}="urn:ietf:params:xml:ns:domain-1.0"><${d}:name>example.com</${d}:name>
        ${parts("add", "ns2.example.com", "mak21", "clientHold")}${parts("rem", "ns1.example.com", "sh8013", "clientUpdateProhibited")}
        <${d}:chg><${d}:registrant>sh8013</${d}:registrant><${d}:authInfo><${d}:pw>2BARfoo</${d}:pw></${d}:authInfo></${d}:chg></${d}:update></update><clTRID>ABC-12345</clTRID></command></epp>`,
    );
  });
});

const checkAnswer = {
  resData: `<domain:chkData><domain:cd><domain:name avail="1">other.net</domain:name></domain:cd><domain:cd><domain:name avail="0">EXAMPLE.com</domain:name><domain:reason>In use</domain:reason></domain:cd></domain:chkData>`,
};
const createAnswer = {
  resData: `<domain:creData><domain:name>example.com</domain:name><domain:crDate>1999-04-03T22:00:00.0Z</domain:crDate><domain:exDate>2001-04-03T22:00:00.0Z</domain:exDate></domain:creData>`,
};
const infoAnswer = {
  resData: `<domain:infData><domain:name>example.com</domain:name><domain:roid>EXAMPLE1-REP</domain:roid><domain:status s="ok"/><domain:status s="serverHold">why</domain:status><domain:registrant>jd1234</domain:registrant><domain:contact type="admin">sh8013</domain:contact><domain:contact type="tech">sh8014</domain:contact><domain:ns><domain:hostObj>ns1.example.com</domain:hostObj><domain:hostObj>ns1.example.net</domain:hostObj></domain:ns><domain:host>ns1.example.com</domain:host><domain:host>ns2.example.com</domain:host><domain:clID>ClientX</domain:clID><domain:crID>ClientY</domain:crID><domain:crDate>1999-04-03T22:00:00.0Z</domain:crDate><domain:upID>ClientX</domain:upID><domain:upDate>1999-12-03T09:00:00.0Z</domain:upDate><domain:exDate>2005-04-03T22:00:00.0Z</domain:exDate><domain:trDate>2000-04-08T09:00:00.0Z</domain:trDate><domain:authInfo><domain:pw>2fooBAR</domain:pw></domain:authInfo></domain:infData>`,
  extension: `<rgp:infData><rgp:rgpStatus s="addPeriod"/><rgp:rgpStatus s="renewPeriod">more</rgp:rgpStatus></rgp:infData>`,
};
const transferAnswer = {
  code: 1001,
  resData: `<domain:trnData><domain:name>example.com</domain:name><domain:trStatus>pending</domain:trStatus><domain:reID>ClientX</domain:reID><domain:reDate>2000-06-08T22:00:00.0Z</domain:reDate><domain:acID>ClientY</domain:acID><domain:acDate>2000-06-13T22:00:00.0Z</domain:acDate><domain:exDate>2002-09-08T22:00:00.0Z</domain:exDate></domain:trnData>`,
};
const renew = domainRenew({ name, currentExDate: new Date("2000-04-03T00:00:00Z"), periodYears: 5 });
const renewAnswer = {
  resData: `<domain:renData><domain:name>example.com</domain:name><domain:exDate>2005-04-03T22:00:00.0Z</domain:exDate></domain:renData>`,
};

describe("what we understand", () => {
  test("check: availability and the registry's reason, for the requested name only", () => {
    assert.deepEqual(read(domainCheck(name), checkAnswer), { available: false, reason: "In use" });
    assert.deepEqual(read(domainCheck("other.net"), checkAnswer), { available: true, reason: undefined });
    assert.throws(() => read(domainCheck("third.org"), checkAnswer), XmlError);
    assert.throws(() => read(domainCheck(name), {}), XmlError);
  });

  test("create: the registry's dates", () => {
    assert.deepEqual(read(domainCreate(create), createAnswer), {
      name,
      crDate: new Date("1999-04-03T22:00:00Z"),
      exDate: new Date("2001-04-03T22:00:00Z"),
    });
  });

  test("an executed or pending transform never fails for what its answer omits or writes differently", () => {
    const strange = (data: string) => [
      {},
      { code: 1001 },
      { resData: "" },
      { code: 1001, resData: '<domain:panData><domain:name paResult="1">example.com</domain:name></domain:panData>' },
      {
        resData: `<domain:${data}><domain:name>example.com</domain:name></domain:${data}>`.replaceAll("name>", "nom>"),
      },
      {
        resData: `<domain:${data}><domain:name>example.com</domain:name><domain:crDate>now</domain:crDate><domain:exDate>02.01.2027</domain:exDate></domain:${data}>`,
      },
    ];
    for (const answer of strange("creData")) assert.equal(read(domainCreate(create), answer), undefined);
    for (const answer of strange("renData")) assert.equal(read(renew, answer), undefined);
    for (const answer of strange("trnData")) assert.equal(read(domainTransfer("request", { name }), answer), undefined);
    const extension = "<rgp:upData><rgp:rgpStatus/></rgp:upData>";
    assert.deepEqual(read(domainRestoreRequest(name), { extension }), { rgpStatuses: [] });
  });

  test("info: an expiry date must be a date; other dates may be any text", () => {
    const dated = (element: string) =>
      `<domain:infData><domain:name>example.com</domain:name><domain:clID>ClientX</domain:clID><domain:${element}>0000-00-00 00:00:00</domain:${element}></domain:infData>`;
    for (const element of ["upDate", "trDate"]) {
      const info = read(domainInfo(name), { resData: dated(element) });
      assert.deepEqual([info?.clID, info?.upDate, info?.trDate], ["ClientX", undefined, undefined]);
    }
    assert.throws(() => read(domainInfo(name), { resData: dated("exDate") }), XmlError);
  });

  test("info: sponsor, statuses, contacts, hosts, grace periods, and authInfo as a secret", () => {
    const info = read(domainInfo(name), infoAnswer);
    assert.equal(info?.authInfo?.reveal(), "2fooBAR");
    assert.deepEqual(info?.statuses, ["ok", "serverHold"]);
    assert.deepEqual(info?.rgpStatuses, ["addPeriod", "renewPeriod"]);
    assert.deepEqual(info?.contacts, [
      { type: "admin", id: "sh8013" },
      { type: "tech", id: "sh8014" },
    ]);
    assert.deepEqual(info?.nameServers, {
      hostModel: "objects",
      hosts: [
        { name: "ns1.example.com", addresses: [] },
        { name: "ns1.example.net", addresses: [] },
      ],
    });
    assert.deepEqual(info?.subordinateHosts, ["ns1.example.com", "ns2.example.com"]);
    assert.deepEqual([info?.clID, info?.crID, info?.registrant], ["ClientX", "ClientY", "jd1234"]);
    assert.equal(info?.exDate?.toISOString(), "2005-04-03T22:00:00.000Z");
    assert.equal(info?.trDate?.toISOString(), "2000-04-08T09:00:00.000Z");
  });

  test("info: host attributes with their addresses", () => {
    const resData = `<domain:infData><domain:name>example.com</domain:name><domain:ns><domain:hostAttr><domain:hostName>ns1.example.com</domain:hostName><domain:hostAddr ip="v4">192.0.2.2</domain:hostAddr><domain:hostAddr ip="v6">2001:db8::1</domain:hostAddr></domain:hostAttr></domain:ns><domain:clID>ClientX</domain:clID></domain:infData>`;
    assert.deepEqual(read(domainInfo(name), { resData })?.nameServers, {
      hostModel: "attributes",
      hosts: [{ name: "ns1.example.com", addresses: ["192.0.2.2", "2001:db8::1"] }],
    });
  });

  test("info: the few fields of another registrar's domain", () => {
    const resData = `<domain:infData><domain:name>example.com</domain:name><domain:roid>EXAMPLE1-REP</domain:roid><domain:clID>ClientX</domain:clID></domain:infData>`;
    const info = read(domainInfo(name), { resData });
    assert.deepEqual([info?.authInfo, info?.exDate, info?.nameServers, info?.secDns], Array(4).fill(undefined));
    assert.deepEqual([info?.statuses, info?.rgpStatuses, info?.contacts, info?.subordinateHosts], [[], [], [], []]);
  });

  test("info and transfer: answers without the clID, the dates or the acID that the RFC requires are read as far as they go", () => {
    for (const clID of ["", "<domain:clID/>"]) {
      const resData = `<domain:infData><domain:name>example.com</domain:name><domain:status s="ok"/>${clID}</domain:infData>`;
      const info = read(domainInfo(name), { resData });
      assert.deepEqual([info?.name, info?.statuses, info?.clID], [name, ["ok"], undefined]);
    }
    const resData = `<domain:trnData><domain:name>example.com</domain:name><domain:trStatus>pending</domain:trStatus><domain:reID>ClientX</domain:reID></domain:trnData>`;
    const { status, reID, reDate, acID, acDate } = read(domainTransfer("query", { name }), { resData }) ?? {};
    assert.deepEqual([status, reID, reDate, acID, acDate], ["pending", "ClientX", undefined, undefined, undefined]);
    const without = (element: string) => resData.replace(new RegExp(`<domain:${element}>.*?</domain:${element}>`), "");
    for (const element of ["trStatus", "reID"]) {
      assert.throws(() => read(domainTransfer("query", { name }), { resData: without(element) }), XmlError);
    }
  });

  test("renew: the new exDate", () => {
    assert.deepEqual(read(renew, renewAnswer), { name, exDate: new Date("2005-04-03T22:00:00Z") });
  });

  test("transfer: who requested it, who has to act, and its status", () => {
    assert.deepEqual(read(domainTransfer("request", { name, authInfo }), transferAnswer), {
      object: "domain",
      id: name,
      status: "pending",
      reID: "ClientX",
      reDate: new Date("2000-06-08T22:00:00Z"),
      acID: "ClientY",
      acDate: new Date("2000-06-13T22:00:00Z"),
      exDate: new Date("2002-09-08T22:00:00Z"),
    });
    assert.equal(read(domainTransfer("approve", { name }), {}), undefined);
    assert.throws(() => read(domainTransfer("query", { name }), {}), XmlError);
  });

  test("restore: the grace period that the name is in", () => {
    const extension = '<rgp:upData><rgp:rgpStatus s="pendingRestore"/></rgp:upData>';
    assert.deepEqual(read(domainRestoreRequest(name), { extension }), { rgpStatuses: ["pendingRestore"] });
    assert.deepEqual(read(domainRestoreRequest(name), {}), { rgpStatuses: [] });
  });

  test("a registry's notation does not matter", () => {
    assertTolerant(domainCheck(name), checkAnswer);
    assertTolerant(domainCreate(create), createAnswer);
    assertTolerant(domainInfo(name), infoAnswer);
    assertTolerant(renew, renewAnswer);
    assertTolerant(domainTransfer("query", { name }), transferAnswer);
  });
});
