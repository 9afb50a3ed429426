import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Secret } from "#lib/secret.ts";
import { domainCheck } from "#registry/epp/commands/domain/check.ts";
import { helloFrame } from "#registry/epp/commands/session/hello.ts";
import { login } from "#registry/epp/commands/session/login.ts";
import { logout } from "#registry/epp/commands/session/logout.ts";
import { pollAck } from "#registry/epp/commands/session/poll-ack.ts";
import { pollRequest } from "#registry/epp/commands/session/poll-request.ts";
import { assertSame, assertTolerant, followTheSchema, frameOf, read } from "#registry/epp/commands/test-answers.ts";
import { parseGreeting } from "#registry/epp/greeting.ts";
import { loginSecNamespace, rgpNamespace } from "#registry/epp/namespaces.ts";
import { parseResponse } from "#registry/epp/response.ts";
import { greetingXml, responseXml } from "#registry/epp/test-stand-in-server.ts";
import { EppFrameInvalid, loadFrameValidator } from "#registry/epp/xml/schema.ts";
import { writeXml } from "#registry/epp/xml/writer.ts";
import { parseXml, XmlError } from "#registry/epp/xml/xml.ts";

const services = {
  objectURIs: ["urn:ietf:params:xml:ns:domain-1.0"],
  extensionURIs: [rgpNamespace],
  language: "en",
};
const withLoginSec = { ...services, extensionURIs: [rgpNamespace, loginSecNamespace] };
const short = { registrarId: "ClientX", password: new Secret("foo-BAR2") };
const long = { registrarId: "ClientX", password: new Secret("this is a long password") };

followTheSchema({
  "without extensions": login(short, { ...services, extensionURIs: [] }),
  "with extensions": login(short, services),
  "with a new password": login({ ...short, newPassword: new Secret("bar-FOO2") }, services),
  "with login security": login(short, withLoginSec),
  "with a long password": login(long, withLoginSec),
  "from a long password to another": login({ ...long, newPassword: new Secret("another long password") }, withLoginSec),
  "from a short password to a long one": login({ ...short, newPassword: long.password }, withLoginSec),
  "a logout": logout(),
  "a question": pollRequest(),
  "an acknowledgement": pollAck("12345"),
});

describe("what we send", () => {
  test("hello follows the schema", async () => {
    const validate = await loadFrameValidator();
    validate(writeXml(helloFrame()));
  });

  test("a frame that breaks the schema is refused without quoting its values", async () => {
    const validate = await loadFrameValidator();
    const broken = login({ ...short, password: new Secret("short") }, services);
    assert.throws(
      () => validate(frameOf(broken)),
      (error: Error) => {
        assert.ok(error instanceof EppFrameInvalid);
        assert.match(error.message, /pw.*minLength/);
        assert.doesNotMatch(error.message, /short/);
        return true;
      },
    );
    assert.throws(() => validate(writeXml(domainCheck("example.com").frame("x".repeat(65)))), EppFrameInvalid);
  });

  test("a password of more than 16 characters goes into loginSec alone (RFC 8807 §4.1)", () => {
    const frame = frameOf(login({ ...long, newPassword: new Secret("another long password") }, withLoginSec));
    assert.match(frame, /<clID>ClientX<\/clID><pw>\[LOGIN-SECURITY\]<\/pw><newPW>\[LOGIN-SECURITY\]<\/newPW>/);
    assert.match(
      frame,
      /<loginSec:pw>this is a long password<\/loginSec:pw><loginSec:newPW>another long password<\/loginSec:newPW>/,
    );
  });

  test("each password goes where it fits", () => {
    const frame = frameOf(login({ ...short, newPassword: long.password }, withLoginSec));
    assert.match(frame, /<pw>foo-BAR2<\/pw><newPW>\[LOGIN-SECURITY\]<\/newPW>/);
    assert.match(frame, /<\/loginSec:userAgent><loginSec:newPW>this is a long password<\/loginSec:newPW>/);
    assert.doesNotMatch(frame, /<loginSec:pw>/);
  });

  test("loginSec names our user agent, and is not sent where it was not offered", () => {
    assert.match(frameOf(login(short, withLoginSec)), /<loginSec:app>Deedhouse<\/loginSec:app>/);
    assert.doesNotMatch(frameOf(login(short, services)), /loginSec/);
  });

  test("login with a new password (RFC 5730 §2.9.1.1)", () => {
    assertSame(
      login({ ...short, newPassword: new Secret("bar-FOO2") }, services),
      `<epp xmlns="urn:ietf:params:xml:ns:epp-1.0"><command><login><clID>ClientX</clID><pw>foo-BAR2</pw><newPW>bar-FOO2</newPW>
        <options><version>1.0</version><lang>en</lang></options>
        <svcs><objURI>urn:ietf:params:xml:ns:domain-1.0</objURI><svcExtension><extURI>urn:ietf:params:xml:ns:rgp-1.0</extURI></svcExtension></svcs>
        </login><clTRID>ABC-12345</clTRID></command></epp>`,
    );
  });
});

describe("what we understand", () => {
  test("a greeting: the server's name, versions, languages and services", () => {
    assert.deepEqual(parseGreeting(parseXml(greetingXml)), {
      svID: "Stand-in",
      versions: ["1.0"],
      languages: ["en"],
      objectURIs: ["urn:ietf:params:xml:ns:domain-1.0"],
      extensionURIs: [],
    });
    assert.throws(() => parseGreeting(parseXml(responseXml(1000, "abc"))), XmlError);
  });

  test("a login's security events (RFC 8807 §4.1), without the value of a credential", () => {
    const event = (attributes: string, text = "") => `<loginSec:event ${attributes}>${text}</loginSec:event>`;
    const answer = {
      extension: `<loginSec:loginSecData>${[
        event(
          'type="password" level="warning" exDate="2018-04-01T22:00:00.0Z" lang="en" value="foo-BAR2"',
          "Password expires in a week",
        ),
        event('type="cipher" level="warning" value="TLS_RSA_WITH_AES_128_CBC_SHA"', "Non-PFS cipher negotiated"),
        event('type="stat" name="failedLogins" level="warning" value="100" duration="P1D"', "Excessive failed logins"),
        event('type="certificate" level="error" exDate="soon"'),
      ].join("")}</loginSec:loginSecData>`,
    };
    const events = read(login(short, withLoginSec), answer);
    assert.deepEqual(events?.[0], {
      type: "password",
      name: undefined,
      level: "warning",
      exDate: new Date("2018-04-01T22:00:00Z"),
      value: undefined,
      duration: undefined,
      text: "Password expires in a week",
    });
    assert.equal(events?.[1]?.value, "TLS_RSA_WITH_AES_128_CBC_SHA");
    assert.deepEqual([events?.[2]?.name, events?.[2]?.value, events?.[2]?.duration], ["failedLogins", "100", "P1D"]);
    assert.deepEqual([events?.[3]?.level, events?.[3]?.exDate], ["error", undefined]);
    assert.deepEqual(read(login(short, withLoginSec), {}), []);
    assertTolerant(login(short, withLoginSec), answer);
  });

  test("failures: all reasons, but never the echoed value", () => {
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
    `<domain:panData><domain:name paResult="${paResult}">example.com</domain:name><domain:paTRID><clTRID>ABC-1</clTRID><svTRID>5432-X</svTRID></domain:paTRID><domain:paDate>1999-04-04T22:00:00.0Z</domain:paDate></domain:panData>`;

  test("an empty queue has no message", () => {
    assert.equal(read(pollRequest(), { code: 1300, head: '<msgQ count="0" id="1"/>' }), undefined);
  });

  test("paResult is the outcome of a pending action", () => {
    const message = read(pollRequest(), { code: 1301, resData: panData("0"), head: queue });
    assert.deepEqual([message?.count, message?.id, message?.payload], [5, "12345", undefined]);
    assert.equal(message?.queuedAt?.toISOString(), "1999-04-04T22:01:00.000Z");
    assert.deepEqual(message?.panData, {
      object: "domain",
      name: "example.com",
      paResult: false,
      paTRID: { clTRID: "ABC-1", svTRID: "5432-X" },
      paDate: new Date("1999-04-04T22:00:00Z"),
    });
    assert.equal(read(pollRequest(), { code: 1301, resData: panData("true"), head: queue })?.panData?.paResult, true);
  });

  test("an unknown or broken payload is kept as text without credentials, never refused", () => {
    const unknown = read(pollRequest(), {
      code: 1301,
      resData: '<x:news xmlns:x="urn:x-1.0">hello<x:pw>hunter2</x:pw></x:news>',
      head: queue,
    });
    assert.match(unknown?.payload ?? "", /<x:news xmlns:x="urn:x-1.0">hello<x:pw>\[secret\]<\/x:pw><\/x:news>/);
    const broken = read(pollRequest(), { code: 1301, resData: panData("maybe"), head: queue });
    assert.equal(broken?.panData, undefined);
    assert.match(broken?.payload ?? "", /paResult="maybe"/);
    assert.equal(read(pollRequest(), { code: 1301, head: queue })?.payload, undefined);
  });

  test("a pending action on a contact or host is distinguished from one on a domain", () => {
    const ofOthers = (object: string, id: string) =>
      `<${object}:panData><${object}:${id} paResult="1">sh8013</${object}:${id}><${object}:paTRID><svTRID>5432-X</svTRID></${object}:paTRID><${object}:paDate>1999-04-04T22:00:00.0Z</${object}:paDate></${object}:panData>`;
    for (const [object, id] of [
      ["contact", "id"],
      ["host", "name"],
    ] as const) {
      const answer = { code: 1301, resData: ofOthers(object, id), head: queue };
      const { panData } = read(pollRequest(), answer) ?? {};
      assert.deepEqual([panData?.object, panData?.name, panData?.paResult], [object, "sh8013", true]);
      assertTolerant(pollRequest(), answer);
    }
  });

  test("transfer messages are parsed, for domains and contacts, and also kept as text", () => {
    const trnData = (object: string, id: string) =>
      `<${object}:trnData><${object}:${id}>example</${object}:${id}><${object}:trStatus>pending</${object}:trStatus><${object}:reID>ClientX</${object}:reID><${object}:reDate>2000-06-08T22:00:00.0Z</${object}:reDate><${object}:acID>ClientY</${object}:acID><${object}:acDate>2000-06-13T22:00:00.0Z</${object}:acDate></${object}:trnData>`;
    for (const [object, id] of [
      ["domain", "name"],
      ["contact", "id"],
    ] as const) {
      const message = read(pollRequest(), { code: 1301, resData: trnData(object, id), head: queue });
      assert.deepEqual([message?.trnData?.object, message?.trnData?.status], [object, "pending"]);
      assert.match(message?.payload ?? "", /trStatus>pending</);
    }
  });

  test("each of several messages has its own id and text", () => {
    const numbered = (count: number, id: string, text: string) =>
      read(pollRequest(), { code: 1301, head: `<msgQ count="${count}" id="${id}"><msg>${text}</msg></msgQ>` });
    const messages = [numbered(2, "12345", "first"), numbered(1, "12346", "second")];
    assert.deepEqual(
      messages.map((message) => [message?.count, message?.id, message?.text, message?.queuedAt]),
      [
        [2, "12345", "first", undefined],
        [1, "12346", "second", undefined],
      ],
    );
  });

  test("a message with a missing or invalid count is read", () => {
    for (const count of ["", 'count=""', 'count="many"']) {
      const message = read(pollRequest(), { code: 1301, head: `<msgQ ${count} id="7"><msg>Low balance</msg></msgQ>` });
      assert.deepEqual([message?.id, message?.count, message?.text], ["7", undefined, "Low balance"]);
    }
  });

  test("a message's text may contain elements, and its date may be invalid", () => {
    const head = '<msgQ count="1" id="7"><qDate>yesterday</qDate><msg>Low <b>balance</b></msg></msgQ>';
    const message = read(pollRequest(), { code: 1301, head });
    assert.deepEqual([message?.id, message?.queuedAt, message?.text], ["7", undefined, "Low"]);
  });
});
