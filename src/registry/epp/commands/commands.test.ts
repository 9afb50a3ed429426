import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Secret } from "#lib/secret.ts";
import type { EppCommand } from "../command.ts";
import { parseResponse } from "../response.ts";
import { EppFrameInvalid, loadFrameValidator } from "../schema.ts";
import { availabilityXml, responseXml } from "../stand-in-server.ts";
import { parseXml, XmlError } from "../xml.ts";
import { writeXml } from "../xml-writer.ts";
import { contactCreate } from "./contact-create.ts";
import { contactInfo } from "./contact-info.ts";
import { domainCheck } from "./domain-check.ts";
import { domainCreate } from "./domain-create.ts";
import { domainDelete } from "./domain-delete.ts";
import { domainInfo } from "./domain-info.ts";
import { domainRenew } from "./domain-renew.ts";
import { helloFrame } from "./hello.ts";
import { login } from "./login.ts";
import { logout } from "./logout.ts";
import { pollAck } from "./poll-ack.ts";
import { pollRequest } from "./poll-request.ts";

const authInfo = new Secret("2fooBAR<&>");
const services = {
  objectURIs: ["urn:ietf:params:xml:ns:domain-1.0"],
  extensionURIs: ["urn:ietf:params:xml:ns:rgp-1.0"],
};
const create = { name: "example.com", periodYears: 1, contacts: [], authInfo };
const contact = {
  id: "sh8013",
  postalInfo: {
    type: "int",
    name: "John Doe",
    org: "Example Inc.",
    street: ["123 Example Dr.", "Suite 100"],
    city: "Dulles",
    sp: "VA",
    pc: "20166-6503",
    cc: "US",
  },
  voice: "+1.7035555555",
  fax: "+1.7035555556",
  email: "jdoe@example.com",
  authInfo,
} as const;

const domainXmlns = 'xmlns:domain="urn:ietf:params:xml:ns:domain-1.0"';

function read<Data>(command: EppCommand<Data>, code: number, resData?: string, head?: string): Data | undefined {
  const response = parseResponse(parseXml(responseXml(code, "abc-1", resData, head)));
  return command.parse(response.resData, response);
}

describe("what we send", () => {
  const commands: EppCommand<unknown>[] = [
    login({ registrarId: "ClientX", password: new Secret("foo-BAR2"), services }),
    login({ registrarId: "ClientX", password: new Secret("foo-BAR2"), services: { ...services, extensionURIs: [] } }),
    logout(),
    pollRequest(),
    pollAck("12345"),
    domainCheck("example.com"),
    domainInfo("example.com"),
    domainCreate(create),
    domainCreate({
      ...create,
      registrant: "jd1234",
      contacts: [{ type: "admin", id: "sh8013" }],
      nameServers: ["ns1.example.net", "ns2.example.net"],
    }),
    domainRenew({ name: "example.com", currentExDate: new Date("2027-01-02T23:59:59Z"), periodYears: 2 }),
    domainDelete("example.com"),
    contactInfo("sh8013"),
    contactCreate(contact),
    contactCreate({ ...contact, postalInfo: { type: "loc", name: "Ján", street: [], city: "Žilina", cc: "SK" } }),
  ];
  for (const [index, command] of commands.entries()) {
    test(`${command.name} (${index}) follows the schema`, async () => {
      const validate = await loadFrameValidator();
      validate(writeXml(command.frame("abc-12345")));
    });
  }

  test("hello follows the schema", async () => {
    const validate = await loadFrameValidator();
    validate(writeXml(helloFrame()));
  });

  test("a frame that breaks the schema is refused without quoting its values", async () => {
    const validate = await loadFrameValidator();
    const broken = login({ registrarId: "ClientX", password: new Secret("far-too-long-a-password"), services });
    assert.throws(
      () => validate(writeXml(broken.frame("abc-1"))),
      (error: Error) => {
        assert.ok(error instanceof EppFrameInvalid);
        assert.match(error.message, /pw.*maxLength/);
        assert.doesNotMatch(error.message, /far-too-long/);
        return true;
      },
    );
    assert.throws(() => validate(writeXml(domainCheck("example.com").frame("x".repeat(65)))), EppFrameInvalid);
  });

  test("renew sends the UTC day of the registry's exDate", () => {
    const request = { name: "example.com", currentExDate: new Date("2027-01-02T23:30:00-01:00"), periodYears: 1 };
    assert.match(writeXml(domainRenew(request).frame("abc-1")), /curExpDate>2027-01-03</);
  });
});

describe("what we understand", () => {
  test("check: availability and the registry's reason, for the name that was asked only", () => {
    const taken = availabilityXml("EXAMPLE.com", false, "In use");
    assert.deepEqual(read(domainCheck("example.com"), 1000, taken), { available: false, reason: "In use" });
    assert.throws(() => read(domainCheck("other.com"), 1000, taken), XmlError);
    assert.throws(() => read(domainCheck("example.com"), 1000), XmlError);
  });

  test("create: the registry's dates; a pending create may come without any", () => {
    const resData = `<domain:creData ${domainXmlns}><domain:name>example.com</domain:name><domain:crDate>1999-04-03T22:00:00.0Z</domain:crDate><domain:exDate>2001-04-03T22:00:00.0Z</domain:exDate></domain:creData>`;
    assert.deepEqual(read(domainCreate(create), 1000, resData), {
      name: "example.com",
      crDate: new Date("1999-04-03T22:00:00Z"),
      exDate: new Date("2001-04-03T22:00:00Z"),
    });
    assert.equal(read(domainCreate(create), 1001), undefined);
    assert.throws(() => read(domainCreate(create), 1000), XmlError);
  });

  test("info: whose it is, its statuses and dates, and authInfo as a secret", () => {
    const resData = `<domain:infData ${domainXmlns}><domain:name>example.com</domain:name><domain:roid>EXAMPLE1-REP</domain:roid><domain:status s="ok"/><domain:status s="serverHold">why</domain:status><domain:registrant>jd1234</domain:registrant><domain:clID>ClientX</domain:clID><domain:crID>ClientY</domain:crID><domain:crDate>1999-04-03T22:00:00.0Z</domain:crDate><domain:upDate>1999-12-03T09:00:00.0Z</domain:upDate><domain:exDate>2005-04-03T22:00:00.0Z</domain:exDate><domain:authInfo><domain:pw>2fooBAR</domain:pw></domain:authInfo></domain:infData>`;
    const info = read(domainInfo("example.com"), 1000, resData);
    assert.equal(info?.authInfo?.reveal(), "2fooBAR");
    assert.deepEqual(info?.statuses, ["ok", "serverHold"]);
    assert.equal(info?.clID, "ClientX");
    assert.equal(info?.exDate?.toISOString(), "2005-04-03T22:00:00.000Z");
    const bare = `<domain:infData ${domainXmlns}><domain:name>example.com</domain:name><domain:clID>ClientX</domain:clID></domain:infData>`;
    const other = read(domainInfo("example.com"), 1000, bare);
    assert.deepEqual([other?.authInfo, other?.exDate, other?.statuses], [undefined, undefined, []]);
  });

  test("contact info: whose it is", () => {
    const resData = `<c:infData xmlns:c="urn:ietf:params:xml:ns:contact-1.0"><c:id>sh8013</c:id><c:roid>SH8013-REP</c:roid><c:status s="linked"/><c:email>jdoe@example.com</c:email><c:clID>ClientY</c:clID><c:crDate>1999-04-03T22:00:00.0Z</c:crDate></c:infData>`;
    const info = read(contactInfo("sh8013"), 1000, resData);
    assert.deepEqual([info?.clID, info?.statuses, info?.email], ["ClientY", ["linked"], "jdoe@example.com"]);
  });

  test("failures: every reason, but never the echoed value", () => {
    const xml = `<epp xmlns="urn:ietf:params:xml:ns:epp-1.0"><response><result code="2005"><msg lang="en">bad</msg><value><pw>hunter2</pw></value><extValue><value><pw>hunter2</pw></value><reason>too short</reason></extValue></result><result code="2306"><msg>more</msg><extValue><value/><reason>policy</reason></extValue></result><trID><svTRID>s-1</svTRID></trID></response></epp>`;
    const response = parseResponse(parseXml(xml));
    assert.deepEqual(response.reasons, ["too short", "policy"]);
    assert.deepEqual([response.code, response.message, response.clTRID], [2005, "bad", undefined]);
    assert.doesNotMatch(JSON.stringify([response.message, response.reasons]), /hunter2/);
  });

  test("a result code outside EPP's is malformed", () => {
    for (const code of [0, 999, 3000, 10000])
      assert.throws(() => parseResponse(parseXml(responseXml(code, "abc"))), XmlError);
  });
});

describe("poll messages", () => {
  const queue =
    '<msgQ count="5" id="12345"><qDate>1999-04-04T22:01:00.0Z</qDate><msg>Pending <b>action</b> completed.</msg></msgQ>';
  const panData = (paResult: string) =>
    `<domain:panData ${domainXmlns}><domain:name paResult="${paResult}">example.com</domain:name><domain:paTRID><clTRID>ABC-1</clTRID><svTRID>5432-X</svTRID></domain:paTRID><domain:paDate>1999-04-04T22:00:00.0Z</domain:paDate></domain:panData>`;

  test("an empty queue is no message", () => {
    assert.equal(read(pollRequest(), 1300, undefined, '<msgQ count="0" id="1"/>'), undefined);
  });

  test("a pending action's outcome is told by paResult", () => {
    const message = read(pollRequest(), 1301, panData("0"), queue);
    assert.deepEqual([message?.count, message?.id, message?.payload], [5, "12345", undefined]);
    assert.equal(message?.queuedAt?.toISOString(), "1999-04-04T22:01:00.000Z");
    assert.deepEqual(message?.panData, {
      name: "example.com",
      paResult: false,
      paTRID: { clTRID: "ABC-1", svTRID: "5432-X" },
      paDate: new Date("1999-04-04T22:00:00Z"),
    });
    assert.equal(read(pollRequest(), 1301, panData("true"), queue)?.panData?.paResult, true);
  });

  test("a payload that is unknown or broken is kept as text without credentials, never refused", () => {
    const unknown = read(pollRequest(), 1301, '<x:news xmlns:x="urn:x-1.0">hello<x:pw>hunter2</x:pw></x:news>', queue);
    assert.match(unknown?.payload ?? "", /<x:news xmlns:x="urn:x-1.0">hello<x:pw>\[secret\]<\/x:pw><\/x:news>/);
    const broken = read(pollRequest(), 1301, panData("maybe"), queue);
    assert.equal(broken?.panData, undefined);
    assert.match(broken?.payload ?? "", /paResult="maybe"/);
    assert.equal(read(pollRequest(), 1301, undefined, queue)?.payload, undefined);
  });
});
