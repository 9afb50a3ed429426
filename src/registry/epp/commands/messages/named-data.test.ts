/** Messages as the documentation of registries describes them: `named-data.ts` names the sources. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { namesAt } from "#registry/epp/commands/messages/named-data.ts";
import { pollRequest } from "#registry/epp/commands/session/poll-request.ts";
import { read } from "#registry/epp/commands/test-answers.ts";

const queue = '<msgQ count="1" id="7"><qDate>2026-01-02T03:04:05Z</qDate><msg>Notification</msg></msgQ>';
const messageOf = (resData: string) => {
  const message = read(pollRequest(), { code: 1301, resData, head: queue });
  assert.ok(message);
  return message;
};
const nominet = (data: string, content: string, version = "std-notifications-1.2", attributes = "") =>
  `<n:${data} xmlns:n="http://www.nominet.org.uk/epp/xml/${version}"${attributes}>${content}</n:${data}>`;
const list =
  '<n:domainListData noDomains="2"><n:domainName>one.example</n:domainName><n:domainName>Two.example</n:domainName></n:domainListData>';
const shownList = `<n:domainListData noDomains="2">${["one.example", "two.example"]
  .map(
    (name) =>
      `<domain:infData><domain:name>${name}</domain:name><domain:registrant>r1</domain:registrant></domain:infData>`,
  )
  .join("")}</n:domainListData>`;
const contact =
  "<contact:infData><contact:id>C1</contact:id><contact:email>ada@mail.example</contact:email></contact:infData>";
const both = ["one.example", "two.example"];

const cases: [what: string, xml: string, names: string[], facts: string[]][] = [
  [
    "a domain was cancelled",
    nominet("cancData", "<n:domainName>one.example</n:domainName><n:orig>ada@mail.example</n:orig>"),
    ["one.example"],
    [],
  ],
  [
    "domains were released to another registrar",
    nominet(
      "relData",
      `<n:accountId moved="Y">12345</n:accountId><n:from>TAG-A</n:from><n:registrarTag>TAG-B</n:registrarTag>${list}`,
    ),
    both,
    ['from "TAG-A"', 'registrarTag "TAG-B"'],
  ],
  [
    "domains are moved to us, or offered to us",
    nominet(
      "rcData",
      `<n:orig>x</n:orig><n:registrarTag>TAG-B</n:registrarTag><n:caseId>3560</n:caseId>${shownList}${contact}`,
    ),
    both,
    ['registrarTag "TAG-B"'],
  ],
  [
    "domains were suspended",
    nominet("suspData", `<n:reason>Data Quality</n:reason><n:cancelDate>2026-12-12T00:00:13Z</n:cancelDate>${list}`),
    both,
    ['reason "Data Quality"', 'cancelDate "2026-12-12T00:00:13Z"'],
  ],
  [
    "domains have another registrant",
    nominet(
      "trnData",
      `<n:orig>x</n:orig><n:accountId>1</n:accountId><n:oldAccountId>2</n:oldAccountId>${list}${contact}`,
    ),
    both,
    [],
  ],
  [
    "the quality of a registrant's data is checked",
    nominet(
      "processData",
      `${contact}<n:processType>DQ Workflow</n:processType><n:suspendDate>2026-10-26T00:00:00</n:suspendDate>${list}`,
      "std-notifications-1.1",
      ' stage="initial"',
    ),
    both,
    ['processType "DQ Workflow"', 'suspendDate "2026-10-26T00:00:00"'],
  ],
  [
    "hosts were cancelled that domains use",
    nominet(
      "hostCancData",
      `<n:hostListData noHosts="1"><n:hostObj>ns1.gone.example.</n:hostObj></n:hostListData>${list}`,
    ),
    both,
    ['hostObj "ns1.gone.example."'],
  ],
  [
    "a referral was rejected",
    nominet(
      "domainFailData",
      "<n:domainName>one.example</n:domainName><n:reason>V205 Registrant does not exist</n:reason>",
      "std-notifications-1.0",
    ),
    ["one.example"],
    ['reason "V205 Registrant does not exist"'],
  ],
  [
    "a domain is used for abuse",
    '<a:infData xmlns:a="http://www.nominet.org.uk/epp/xml/nom-abuse-feed-1.0"><a:key>one.example</a:key><a:activity>phishing</a:activity><a:source>feed</a:source><a:hostname>www.one.example</a:hostname><a:target>a bank</a:target></a:infData>',
    ["one.example"],
    ['activity "phishing"', 'source "feed"', 'hostname "www.one.example"'],
  ],
];

describe("a message of Nominet names the domains of its own data", () => {
  for (const [what, xml, names, facts] of cases) {
    test(what, () => {
      const { named, told, trnData, dataNames } = messageOf(xml);
      assert.deepEqual([named?.names, named?.facts, told, trnData], [names, facts, undefined, undefined]);
      assert.match(dataNames[0] ?? "", /nominet/);
    });
  }

  test("an accepted referral is the creation of RFC 5731, a changed account a contact of RFC 5733", () => {
    const created = messageOf("<domain:creData><domain:name>one.example</domain:name></domain:creData>");
    assert.deepEqual([created.told?.object, created.told?.id, created.named], ["domain", "one.example", undefined]);
    assert.deepEqual(messageOf(contact).told?.object, "contact");
  });

  test("the deletion of a contact, and data of no form, name none", () => {
    for (const xml of [
      nominet("contactDelData", "<n:contactId>C1</n:contactId><n:roid>100-UK</n:roid>"),
      nominet("newData", list),
      `<n:cancData xmlns:n="urn:example:elsewhere"><n:domainName>one.example</n:domainName></n:cancData>`,
    ]) {
      assert.equal(messageOf(xml).named, undefined);
    }
  });
});

test("EURid's and DNS Belgium's messages name the domain that they are about", () => {
  const eurid = `<p:pollData xmlns:p="http://www.eurid.eu/xml/epp/poll-1.2"><p:context>TRANSFER</p:context><p:objectType>DOMAIN</p:objectType>
    <p:object>one.example</p:object><p:objectUnicode>one.example</p:objectUnicode><p:action>AWAY</p:action><p:code>2306</p:code></p:pollData>`;
  assert.deepEqual(messageOf(eurid).named, { names: ["one.example"], facts: ['context "TRANSFER"', 'action "AWAY"'] });
  const dnsBelgium = `<b:pollRes xmlns:b="http://www.dns.be/xml/epp/dnsbe-1.0"><b:action>BOUNCED</b:action>
    <b:domainname>one.example</b:domainname><b:returncode>1159</b:returncode><b:type>TRANSFER</b:type></b:pollRes>`;
  assert.deepEqual(messageOf(dnsBelgium).named?.names, ["one.example"]);
});

test("a transfer that SIDN's messages wrap is read like one that is not wrapped", () => {
  const { trnData, named, payload } = messageOf(
    `<s:pollData xmlns:s="http://rxsd.domain-registry.nl/sidn-ext-epp-1.0"><s:command>domain:transfer</s:command><s:data>
      <result code="1000"><msg>The domain name has been transferred.</msg></result>
      <resData><domain:trnData><domain:name>one.example</domain:name><domain:trStatus>serverApproved</domain:trStatus>
        <domain:reID>other</domain:reID></domain:trnData></resData>
      <trID><svTRID>1</svTRID></trID></s:data></s:pollData>`,
  );
  assert.deepEqual(
    [trnData?.id, trnData?.status, trnData?.reID, named],
    ["one.example", "serverApproved", "other", undefined],
  );
  assert.match(payload ?? "", /pollData/);
});

test("a rule's paths find names in any namespace, once each, and nothing that is no name", () => {
  const { data } = messageOf(
    `<x:news xmlns:x="urn:example:x"><x:list><y:item xmlns:y="urn:example:y">one.example</y:item><x:item>ONE.example.</x:item>
      <x:item>not a name</x:item><x:item/></x:list><x:other><x:item>two.example</x:item></x:other></x:news>`,
  );
  assert.deepEqual(namesAt(data, "news", ["list/item"]), ["one.example"]);
  assert.deepEqual(namesAt(data, "news", ["list/item", "other/item"]), both);
  assert.deepEqual(namesAt(data, "news", ["item"]), []);
  assert.deepEqual(namesAt(data, "olds", ["list/item"]), []);
});
