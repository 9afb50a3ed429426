import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { answerQuestion } from "#dns/answer.ts";
import { isRecordType, type RecordType, typeCode } from "#dns/forms.ts";
import { nameToWire, wireNameText } from "#dns/names.ts";
import { parseRecordSet } from "#dns/records.ts";
import { servedZone } from "#dns/served-zone.ts";
import type { WireRecord } from "#dns/wire.ts";

const rcodeNames = ["NOERROR", "FORMERR", "SERVFAIL", "NXDOMAIN"];
const types: readonly (RecordType | "SOA")[] = ["A", "AAAA", "CNAME", "DS", "MX", "NS", "SOA", "TXT"];
const typeName = (code: number) => types.find((type) => typeCode(type) === code) ?? String(code);
const any = 255;

function zoneOf(name: string, lines: readonly string[]) {
  const sets = lines.map((line) => {
    const [subname = "", type = "", ...words] = line.split(" ");
    return parseRecordSet(name, { subname, type, records: words.join(" ").split(" | ") });
  });
  const nameServers = ["ns1.dns.test", "ns2.dns.test"];
  return servedZone({ name, serial: 1, sets, managed: [], nameServers, hostmaster: "h.dns.test" });
}

/** "NOERROR aa | answer: www.example.com. A 3600 | …": short enough to compare. */
function ask(zone: ReturnType<typeof zoneOf>, name: string, type: string) {
  const code = type === "ANY" ? any : typeCode(isRecordType(type) ? type : "SOA");
  const answer = answerQuestion(zone, { name: nameToWire(name), type: code, class: 1 });
  const print = (records: WireRecord[]) =>
    records.map(({ name: owner, type: of }) => `${wireNameText(owner)} ${typeName(of)}`).join(", ");
  return [
    `${rcodeNames[answer.rcode]}${answer.isAuthoritative ? " aa" : ""}`,
    print(answer.answers),
    print(answer.authority),
    print(answer.additional),
  ].join(" | ");
}

// Without sub.*, since a name here has * as its leftmost label only.
describe("RFC 4592 §2.2.1: the zone of its examples", () => {
  const zone = zoneOf("wild.example", [
    '* TXT "this is a wildcard"',
    "* MX 10 host1.wild.example.",
    "host1 A 192.0.2.1",
    "_ssh._tcp.host1 SRV 0 0 22 host1.wild.example",
    "_ssh._tcp.host2 SRV 0 0 22 host2.wild.example",
    "subdel NS ns.example.com | ns.example.net",
  ]);
  const soa = "wild.example. SOA";
  const cases: [string, string, string][] = [
    ["host3.wild.example.", "MX", "NOERROR aa | host3.wild.example. MX |  | "],
    ["host3.wild.example.", "A", `NOERROR aa |  | ${soa} | `],
    ["foo.bar.wild.example.", "TXT", "NOERROR aa | foo.bar.wild.example. TXT |  | "],
    ["host1.wild.example.", "MX", `NOERROR aa |  | ${soa} | `],
    ["sub.*.wild.example.", "MX", `NXDOMAIN aa |  | ${soa} | `],
    ["*.wild.example.", "TXT", "NOERROR aa | *.wild.example. TXT |  | "],
    ["_telnet._tcp.host1.wild.example.", "SRV", `NXDOMAIN aa |  | ${soa} | `],
    ["_tcp.host2.wild.example.", "TXT", `NOERROR aa |  | ${soa} | `],
    ["host2.wild.example.", "TXT", `NOERROR aa |  | ${soa} | `],
    ["host.subdel.wild.example.", "A", "NOERROR |  | subdel.wild.example. NS, subdel.wild.example. NS | "],
    ["ghost.*.wild.example.", "MX", `NXDOMAIN aa |  | ${soa} | `],
  ];
  for (const [name, type, expected] of cases) {
    test(`${name} ${type}`, () => assert.equal(ask(zone, name, type), expected));
  }
});

const ds = `DS 1 13 2 ${"00".repeat(32)}`;
const plain = zoneOf("example.com", [
  "@ A 192.0.2.1",
  "www CNAME host.example.com",
  "host A 192.0.2.1 | 192.0.2.2",
  "out CNAME www.example.net",
  "gone CNAME nothing.example.com",
  "loop-a CNAME loop-b.example.com",
  "loop-b CNAME loop-a.example.com",
  "self CNAME self.example.com",
  "into CNAME a.sub.example.com",
  "*.wild CNAME host.example.com",
  "sub NS ns.sub.example.com | ns.example.net | host.example.com",
  `sub ${ds}`,
  "ns.sub A 192.0.2.3",
  "ns.sub AAAA 2001:db8::3",
  "deep.empty TXT a",
]);
const plainSoa = "example.com. SOA";
const ns = "sub.example.com. NS, sub.example.com. NS, sub.example.com. NS";
const glue = "ns.sub.example.com. A, ns.sub.example.com. AAAA, host.example.com. A, host.example.com. A";
const plainCases: [string, string, string, string][] = [
  ["its own records", "example.com.", "A", "NOERROR aa | example.com. A |  | "],
  ["its SOA", "example.com.", "SOA", "NOERROR aa | example.com. SOA |  | "],
  ["its NS", "example.com.", "NS", "NOERROR aa | example.com. NS, example.com. NS |  | "],
  ["NODATA for its own DS", "example.com.", "DS", `NOERROR aa |  | ${plainSoa} | `],
  ["in any case of letters", "HOST.Example.COM.", "A", "NOERROR aa | host.example.com. A, host.example.com. A |  | "],
  [
    "along a CNAME",
    "www.example.com.",
    "A",
    "NOERROR aa | www.example.com. CNAME, host.example.com. A, host.example.com. A |  | ",
  ],
  ["a CNAME itself", "www.example.com.", "CNAME", "NOERROR aa | www.example.com. CNAME |  | "],
  [
    "a CNAME whose target lacks the type",
    "www.example.com.",
    "TXT",
    `NOERROR aa | www.example.com. CNAME | ${plainSoa} | `,
  ],
  ["a CNAME that leads out", "out.example.com.", "A", "NOERROR aa | out.example.com. CNAME |  | "],
  ["a CNAME that leads nowhere", "gone.example.com.", "A", `NXDOMAIN aa | gone.example.com. CNAME | ${plainSoa} | `],
  [
    "a circle of CNAMEs",
    "loop-a.example.com.",
    "A",
    "NOERROR aa | loop-a.example.com. CNAME, loop-b.example.com. CNAME |  | ",
  ],
  ["a CNAME to itself", "self.example.com.", "A", "NOERROR aa | self.example.com. CNAME |  | "],
  ["a CNAME into a delegation", "into.example.com.", "A", `NOERROR aa | into.example.com. CNAME | ${ns} | ${glue}`],
  [
    "a wildcard CNAME",
    "x.y.wild.example.com.",
    "A",
    "NOERROR aa | x.y.wild.example.com. CNAME, host.example.com. A, host.example.com. A |  | ",
  ],
  ["NODATA at a name between", "empty.example.com.", "A", `NOERROR aa |  | ${plainSoa} | `],
  ["NODATA above a wildcard", "wild.example.com.", "A", `NOERROR aa |  | ${plainSoa} | `],
  ["NXDOMAIN", "nothing.example.com.", "A", `NXDOMAIN aa |  | ${plainSoa} | `],
  ["NXDOMAIN below a name that exists", "x.host.example.com.", "A", `NXDOMAIN aa |  | ${plainSoa} | `],
  ["a delegation", "sub.example.com.", "A", `NOERROR |  | ${ns} | ${glue}`],
  ["a delegation, asked for its NS", "sub.example.com.", "NS", `NOERROR |  | ${ns} | ${glue}`],
  ["a delegation, asked for its glue", "ns.sub.example.com.", "A", `NOERROR |  | ${ns} | ${glue}`],
  ["a delegation, asked for DS below it", "x.sub.example.com.", "DS", `NOERROR |  | ${ns} | ${glue}`],
  ["DS of a delegation", "sub.example.com.", "DS", "NOERROR aa | sub.example.com. DS |  | "],
  ["ANY with one set", "example.com.", "ANY", "NOERROR aa | example.com. SOA |  | "],
  ["ANY at a CNAME with the CNAME", "www.example.com.", "ANY", "NOERROR aa | www.example.com. CNAME |  | "],
  ["ANY at a name between", "empty.example.com.", "ANY", `NOERROR aa |  | ${plainSoa} | `],
];

describe("RFC 1034 §4.3.2: a zone answers", () => {
  for (const [what, name, type, expected] of plainCases)
    test(what, () => assert.equal(ask(plain, name, type), expected));

  test("that something is not there for 300 seconds", () => {
    const question = { name: nameToWire("nothing.example.com."), type: 1, class: 1 };
    const { authority } = answerQuestion(plain, question);
    assert.deepEqual(
      authority.map(({ ttl }) => ttl),
      [300],
    );
  });

  test("a long chain of CNAMEs, as far as it goes", () => {
    const links = Array.from({ length: 40 }, (_, index) => `c${index} CNAME c${index + 1}.example.com`);
    const question = { name: nameToWire("c0.example.com."), type: 1, class: 1 };
    assert.equal(answerQuestion(zoneOf("example.com", links), question).answers.length, 17);
  });
});
