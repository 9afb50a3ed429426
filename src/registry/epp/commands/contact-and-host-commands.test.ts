import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Secret } from "#lib/secret.ts";
import { contactCheck } from "#registry/epp/commands/contact/check.ts";
import { contactCreate } from "#registry/epp/commands/contact/create.ts";
import { contactDelete } from "#registry/epp/commands/contact/delete.ts";
import { contactInfo } from "#registry/epp/commands/contact/info.ts";
import { contactUpdate } from "#registry/epp/commands/contact/update.ts";
import { hostCheck } from "#registry/epp/commands/host/check.ts";
import { hostCreate } from "#registry/epp/commands/host/create.ts";
import { hostDelete } from "#registry/epp/commands/host/delete.ts";
import { hostInfo } from "#registry/epp/commands/host/info.ts";
import { hostUpdate } from "#registry/epp/commands/host/update.ts";
import { assertSame, assertTolerant, followTheSchema, read } from "#registry/epp/commands/test-answers.ts";
import { XmlError } from "#registry/epp/xml/xml.ts";

const authInfo = new Secret("2fooBAR<&>");
const postalInfo = {
  type: "int",
  name: "John Doe",
  org: "Example Inc.",
  street: ["123 Example Dr.", "Suite 100"],
  city: "Dulles",
  sp: "VA",
  pc: "20166-6503",
  cc: "US",
} as const;
const contact = {
  id: "sh8013",
  postalInfo,
  voice: "+1.7035555555",
  fax: "+1.7035555556",
  email: "jdoe@example.com",
  authInfo,
} as const;
const local = { type: "loc", name: "Ján", street: [], city: "Žilina", cc: "SK" } as const;
const host = "ns1.example.com";
const addresses = ["192.0.2.2", "192.0.2.29", "1080:0:0:0:8:800:200C:417A"];

followTheSchema({
  "a check": contactCheck("sh8013"),
  "an info": contactInfo("sh8013"),
  "an info with another's authInfo": contactInfo("sh8013", authInfo),
  "a create": contactCreate(contact),
  "a create with the little that is needed, in the local script": contactCreate({
    id: "sh8013",
    postalInfo: local,
    email: "jan@example.sk",
    authInfo,
  }),
  "an update of everything": contactUpdate({
    ...contact,
    addStatuses: ["clientDeleteProhibited"],
    removeStatuses: ["clientUpdateProhibited", "clientTransferProhibited"],
  }),
  "an update that takes the fax off": contactUpdate({ id: "sh8013", fax: "" }),
  "a delete": contactDelete("sh8013"),
  "a host's check": hostCheck(host),
  "a host's info": hostInfo(host),
  "a host's create with addresses": hostCreate({ name: host, addresses }),
  "a host's create without any": hostCreate({ name: "ns1.example.net", addresses: [] }),
  "a host's update of everything": hostUpdate({
    name: host,
    add: { addresses: ["192.0.2.22"], statuses: ["clientUpdateProhibited"] },
    remove: { addresses: ["1080:0:0:0:8:800:200C:417A"] },
    newName: "ns2.example.com",
  }),
  "a host's new name": hostUpdate({ name: host, newName: "ns2.example.com" }),
  "a host's delete": hostDelete(host),
});

const contactInfoAnswer = {
  resData: `<contact:infData><contact:id>sh8013</contact:id><contact:roid>SH8013-REP</contact:roid><contact:status s="linked"/><contact:status s="clientDeleteProhibited"/><contact:postalInfo type="int"><contact:name>John Doe</contact:name><contact:org>Example Inc.</contact:org><contact:addr><contact:street>123 Example Dr.</contact:street><contact:street>Suite 100</contact:street><contact:city>Dulles</contact:city><contact:sp>VA</contact:sp><contact:pc>20166-6503</contact:pc><contact:cc>US</contact:cc></contact:addr></contact:postalInfo><contact:voice x="1234">+1.7035555555</contact:voice><contact:fax>+1.7035555556</contact:fax><contact:email>jdoe@example.com</contact:email><contact:clID>ClientY</contact:clID><contact:crID>ClientX</contact:crID><contact:crDate>1999-04-03T22:00:00.0Z</contact:crDate><contact:upID>ClientX</contact:upID><contact:upDate>1999-12-03T09:00:00.0Z</contact:upDate><contact:authInfo><contact:pw>2fooBAR</contact:pw></contact:authInfo><contact:disclose flag="0"><contact:voice/><contact:email/></contact:disclose></contact:infData>`,
};
const hostInfoAnswer = {
  resData: `<host:infData><host:name>ns1.example.com</host:name><host:roid>NS1_EXAMPLE1-REP</host:roid><host:status s="linked"/><host:status s="clientUpdateProhibited"/><host:addr ip="v4">192.0.2.2</host:addr><host:addr ip="v4">192.0.2.29</host:addr><host:addr ip="v6">1080:0:0:0:8:800:200C:417A</host:addr><host:clID>ClientY</host:clID><host:crID>ClientX</host:crID><host:crDate>1999-04-03T22:00:00.0Z</host:crDate><host:upDate>1999-12-03T09:00:00.0Z</host:upDate></host:infData>`,
};
const contactCheckAnswer = {
  resData: `<contact:chkData><contact:cd><contact:id avail="1">sh8013</contact:id></contact:cd><contact:cd><contact:id avail="0">sah8013</contact:id><contact:reason>In use</contact:reason></contact:cd></contact:chkData>`,
};

describe("contacts", () => {
  test("check: whether an id is free, for the one that was asked only", () => {
    assert.deepEqual(read(contactCheck("sah8013"), contactCheckAnswer), { available: false, reason: "In use" });
    assert.deepEqual(read(contactCheck("sh8013"), contactCheckAnswer), { available: true, reason: undefined });
    assert.throws(() => read(contactCheck("other"), contactCheckAnswer), XmlError);
    assertTolerant(contactCheck("sah8013"), contactCheckAnswer);
  });

  test("create: its id and date; it is made without them too", () => {
    const resData = `<contact:creData><contact:id>sh8013</contact:id><contact:crDate>1999-04-03T22:00:00.0Z</contact:crDate></contact:creData>`;
    assert.deepEqual(read(contactCreate(contact), { resData }), {
      id: "sh8013",
      crDate: new Date("1999-04-03T22:00:00Z"),
    });
    for (const code of [1000, 1001]) assert.equal(read(contactCreate(contact), { code }), undefined);
    const undated = resData.replace(/1999[^<]*/, "unknown");
    assert.equal(read(contactCreate(contact), { resData: undated }), undefined);
  });

  test("info: whose it is, and what it says", () => {
    const info = read(contactInfo("sh8013"), contactInfoAnswer);
    assert.deepEqual([info?.clID, info?.crID], ["ClientY", "ClientX"]);
    assert.deepEqual(info?.statuses, ["linked", "clientDeleteProhibited"]);
    assert.deepEqual(info?.postalInfos, [postalInfo]);
    assert.deepEqual([info?.voice, info?.fax, info?.email], ["+1.7035555555", "+1.7035555556", "jdoe@example.com"]);
    assertTolerant(contactInfo("sh8013"), contactInfoAnswer);
  });

  test("info: the little that some registries show", () => {
    const resData = `<contact:infData><contact:id>sh8013</contact:id><contact:clID>ClientY</contact:clID></contact:infData>`;
    const info = read(contactInfo("sh8013"), { resData });
    assert.deepEqual([info?.postalInfos, info?.statuses, info?.email, info?.crDate], [[], [], undefined, undefined]);
    const never = `<contact:upDate>0000-00-00 00:00:00</contact:upDate></contact:infData>`;
    assert.equal(
      read(contactInfo("sh8013"), { resData: resData.replace("</contact:infData>", never) })?.clID,
      "ClientY",
    );
    const hidden = "<contact:postalInfo><contact:addr><contact:cc>US</contact:cc></contact:addr></contact:postalInfo>";
    const partly = read(contactInfo("sh8013"), {
      resData: resData.replace("<contact:clID>", `${hidden}<contact:clID>`),
    });
    assert.deepEqual(partly?.postalInfos, [{ type: "int", name: "", street: [], city: "", cc: "US" }]);
  });
});

describe("hosts", () => {
  test("check: whether a name is free", () => {
    const resData = `<host:chkData><host:cd><host:name avail="0">ns1.example.com</host:name><host:reason>In use</host:reason></host:cd></host:chkData>`;
    assert.deepEqual(read(hostCheck(host), { resData }), { available: false, reason: "In use" });
  });

  test("create: its name and date (RFC 5732 §3.2.1)", () => {
    const resData = `<host:creData><host:name>ns1.example.com</host:name><host:crDate>1999-04-03T22:00:00.0Z</host:crDate></host:creData>`;
    const command = hostCreate({ name: host, addresses });
    assert.deepEqual(read(command, { resData }), { name: host, crDate: new Date("1999-04-03T22:00:00Z") });
    for (const code of [1000, 1001]) assert.equal(read(command, { code }), undefined);
    assertSame(
      command,
      `<epp xmlns="urn:ietf:params:xml:ns:epp-1.0"><command><create><host:create xmlns:host="urn:ietf:params:xml:ns:host-1.0"><host:name>ns1.example.com</host:name><host:addr ip="v4">192.0.2.2</host:addr><host:addr ip="v4">192.0.2.29</host:addr><host:addr ip="v6">1080:0:0:0:8:800:200C:417A</host:addr></host:create></create><clTRID>ABC-12345</clTRID></command></epp>`,
    );
  });

  test("info: whose it is, its statuses and addresses", () => {
    const info = read(hostInfo(host), hostInfoAnswer);
    assert.deepEqual([info?.clID, info?.statuses], ["ClientY", ["linked", "clientUpdateProhibited"]]);
    assert.deepEqual(info?.addresses, addresses);
    assertTolerant(hostInfo(host), hostInfoAnswer);
  });
});
