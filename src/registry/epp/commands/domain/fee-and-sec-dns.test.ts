import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Secret } from "#lib/secret.ts";
import { domainCheck } from "#registry/epp/commands/domain/check.ts";
import { domainCreate } from "#registry/epp/commands/domain/create.ts";
import { domainInfo } from "#registry/epp/commands/domain/info.ts";
import { domainRenew } from "#registry/epp/commands/domain/renew.ts";
import { domainTransfer } from "#registry/epp/commands/domain/transfer.ts";
import { domainUpdate } from "#registry/epp/commands/domain/update.ts";
import { assertTolerant, followTheSchema, frameOf, read } from "#registry/epp/commands/test-answers.ts";
import { XmlError } from "#registry/epp/xml/xml.ts";

const name = "example.com";
const authInfo = new Secret("2fooBAR");
const price = { amount: "100.00", currency: "USD" };
const everyPrice = {
  currency: "USD",
  commands: [
    { command: "create", periodYears: 2 },
    { command: "renew" },
    { command: "transfer" },
    { command: "restore" },
    { command: "delete" },
    { command: "update" },
  ],
} as const;
const ds = {
  keyTag: 12345,
  alg: 3,
  digestType: 1,
  digest: "49FD46E6C4B45C55D4AC",
} as const;
const key = { flags: 257, protocol: 3, alg: 1, pubKey: "AQPJ////4Q==" } as const;
const create = { name, periodYears: 1, authInfo };

followTheSchema({
  "a check that asks for every price": domainCheck(name, everyPrice),
  "a check that asks for one price in the registry's currency": domainCheck(name, {
    commands: [{ command: "create" }],
  }),
  "a create at an agreed price": domainCreate({ ...create, fee: price }),
  "a renew at an agreed price": domainRenew({ name, currentExDate: new Date(0), periodYears: 1, fee: price }),
  "an update at an agreed price": domainUpdate({ name, registrant: "jd1234", fee: price }),
  "a transfer at an agreed price": domainTransfer("request", { name, authInfo, fee: price }),
  "a signed create": domainCreate({ ...create, secDns: { maxSigLifeSeconds: 604_800, dsData: [ds] } }),
  "a signed create with the DS record's key": domainCreate({
    ...create,
    secDns: { dsData: [{ ...ds, keyData: key }] },
  }),
  "a signed create with keys, at an agreed price": domainCreate({ ...create, secDns: { keyData: [key] }, fee: price }),
  "a change of keys": domainUpdate({
    name,
    secDns: { remove: { keyData: [key] }, add: { keyData: [key, key] }, maxSigLifeSeconds: 605_900 },
  }),
  "an urgent change of DS records": domainUpdate({
    name,
    secDns: { remove: { dsData: [ds] }, add: { dsData: [ds] }, urgent: true },
  }),
  "the end of signing": domainUpdate({ name, secDns: { remove: "all" } }),
});

const checkAnswer = {
  resData: `<domain:chkData><domain:cd><domain:name avail="1">example.com</domain:name></domain:cd></domain:chkData>`,
  extension: `<fee:chkData><fee:currency>USD</fee:currency><fee:cd><fee:objID>example.net</fee:objID></fee:cd><fee:cd><fee:objID>Example.com</fee:objID><fee:class>premium</fee:class><fee:command name="create"><fee:period unit="y">2</fee:period><fee:fee description="Registration Fee" refundable="1" grace-period="P5D">10.00</fee:fee><fee:fee description="Premium">90.1</fee:fee><fee:credit>-0.105</fee:credit></fee:command><fee:command name="renew" standard="1"><fee:fee>5</fee:fee></fee:command><fee:command name="restore"><fee:reason>restore is not possible</fee:reason></fee:command></fee:cd></fee:chkData>`,
};

describe("prices", () => {
  test("are those of the checked name, with fees and credits added exactly", () => {
    assert.deepEqual(read(domainCheck(name, everyPrice), checkAnswer)?.fees, {
      currency: "USD",
      class: "premium",
      prices: [
        { command: "create", periodYears: 2, amount: "99.995", isStandard: false, reason: undefined },
        { command: "renew", periodYears: undefined, amount: "5", isStandard: true, reason: undefined },
        {
          command: "restore",
          periodYears: undefined,
          amount: undefined,
          isStandard: false,
          reason: "restore is not possible",
        },
      ],
    });
    assertTolerant(domainCheck(name, everyPrice), checkAnswer);
  });

  test("are absent where the registry gives none", () => {
    const { resData } = checkAnswer;
    assert.deepEqual(read(domainCheck(name, everyPrice), { resData }), { available: true, reason: undefined });
  });

  test("that are not amounts are malformed", () => {
    const extension = checkAnswer.extension.replace("10.00", "ten");
    assert.throws(() => read(domainCheck(name, everyPrice), { ...checkAnswer, extension }), XmlError);
  });

  test("that were charged are read from the answer", () => {
    const charged = (data: string) =>
      `<fee:${data}><fee:currency>USD</fee:currency><fee:fee>5.00</fee:fee><fee:credit>-5.25</fee:credit><fee:balance>-5.00</fee:balance><fee:creditLimit>1000.00</fee:creditLimit></fee:${data}>`;
    const created = read(domainCreate(create), {
      resData: `<domain:creData><domain:name>example.com</domain:name><domain:crDate>1999-04-03T22:00:00.0Z</domain:crDate></domain:creData>`,
      extension: charged("creData"),
    });
    assert.deepEqual(created?.charge, { amount: "-0.25", currency: "USD" });
    const renewed = read(domainRenew({ name, currentExDate: new Date(0), periodYears: 1 }), {
      resData: `<domain:renData><domain:name>example.com</domain:name></domain:renData>`,
      extension: charged("renData"),
    });
    assert.deepEqual(renewed?.charge, { amount: "-0.25", currency: "USD" });
  });

  test("that cannot be read do not discard the answer of an executed command", () => {
    const resData = `<domain:creData><domain:name>example.com</domain:name><domain:crDate>1999-04-03T22:00:00.0Z</domain:crDate></domain:creData>`;
    for (const fees of ["<fee:currency>USD</fee:currency><fee:fee>ten</fee:fee>", "<fee:fee>5.00</fee:fee>", ""]) {
      const created = read(domainCreate(create), { resData, extension: `<fee:creData>${fees}</fee:creData>` });
      assert.deepEqual([created?.name, created?.charge], [name, undefined]);
    }
  });

  test("are sent exactly as the registry gave them, never rounded", () => {
    const frame = frameOf(domainCreate({ ...create, fee: { amount: "1234567890123.10", currency: "EUR" } }));
    assert.match(frame, /currency>EUR<.*fee>1234567890123\.10</);
  });
});

describe("secDNS", () => {
  const infData = `<domain:infData><domain:name>example.com</domain:name><domain:clID>ClientX</domain:clID></domain:infData>`;

  test("info: DS records, with the key of one", () => {
    const answer = {
      resData: infData,
      extension: `<secDNS:infData><secDNS:maxSigLife>604800</secDNS:maxSigLife><secDNS:dsData><secDNS:keyTag>12345</secDNS:keyTag><secDNS:alg>3</secDNS:alg><secDNS:digestType>1</secDNS:digestType><secDNS:digest>49fd46e6c4b45c55d4ac</secDNS:digest><secDNS:keyData><secDNS:flags>257</secDNS:flags><secDNS:protocol>3</secDNS:protocol><secDNS:alg>1</secDNS:alg><secDNS:pubKey>AQPJ//
        //4Q==</secDNS:pubKey></secDNS:keyData></secDNS:dsData></secDNS:infData>`,
    };
    const expected = { maxSigLifeSeconds: 604_800, dsData: [{ ...ds, keyData: key }] };
    assert.deepEqual(read(domainInfo(name), answer)?.secDns, expected);
    assertTolerant(domainInfo(name), answer);
  });

  test("info: keys", () => {
    const keyData = `<secDNS:keyData><secDNS:flags>257</secDNS:flags><secDNS:protocol>3</secDNS:protocol><secDNS:alg>1</secDNS:alg><secDNS:pubKey>AQPJ////4Q==</secDNS:pubKey></secDNS:keyData>`;
    const answer = { resData: infData, extension: `<secDNS:infData>${keyData}</secDNS:infData>` };
    assert.deepEqual(read(domainInfo(name), answer)?.secDns, { keyData: [key] });
  });

  test("info: keys that cannot be read do not discard the answer", () => {
    const extension =
      "<secDNS:infData><secDNS:dsData><secDNS:keyTag>many</secDNS:keyTag></secDNS:dsData></secDNS:infData>";
    const info = read(domainInfo(name), { resData: infData, extension });
    assert.deepEqual([info?.clID, info?.secDns], ["ClientX", undefined]);
  });

  test("removals precede additions (RFC 5910 §5.2.5)", () => {
    const frame = frameOf(domainUpdate({ name, secDns: { remove: "all", add: { dsData: [ds] } } }));
    assert.match(frame, /<secDNS:rem><secDNS:all>true<\/secDNS:all><\/secDNS:rem><secDNS:add>/);
  });
});
