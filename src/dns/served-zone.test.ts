import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parseRecordSet } from "#dns/records.ts";
import { servedZone } from "#dns/served-zone.ts";

const setOf = (subname: string, type: string, record: string) =>
  parseRecordSet("example.com", { subname, type, ttl: 300, records: [record] });
const managed = ["@", "www", "a.b"].flatMap((owner) => [
  setOf(owner, "A", "192.0.2.80"),
  setOf(owner, "AAAA", "2001:db8::80"),
]);
const serve = (sets: ReturnType<typeof setOf>[]) =>
  servedZone({
    name: "example.com",
    serial: 7,
    sets,
    managed,
    nameServers: ["ns1.dns.test", "ns2.dns.test"],
    hostmaster: "hostmaster.dns.test",
  });

test("a zone is served with SOA and NS, the user's sets and the managed ones", () => {
  const { sets } = serve([setOf("www", "TXT", "a")]);
  const soa = "ns1.dns.test. hostmaster.dns.test. 7 3600 600 2419200 300";
  assert.deepEqual(sets.slice(0, 2), [
    { owner: "@", type: "SOA", ttl: 3600, records: [soa] },
    { owner: "@", type: "NS", ttl: 3600, records: ["ns1.dns.test.", "ns2.dns.test."] },
  ]);
  assert.deepEqual(sets.slice(2), [setOf("www", "TXT", "a"), ...managed]);
});

describe("managed sets are shadowed by the user's", () => {
  const ownersLeft = (sets: ReturnType<typeof setOf>[]) => [
    ...new Set(
      serve(sets)
        .sets.filter((set) => managed.includes(set as never))
        .map(({ owner }) => owner),
    ),
  ];
  const cases: [string, ReturnType<typeof setOf>[], string[]][] = [
    ["A at the name, AAAA too", [setOf("www", "A", "192.0.2.1")], ["@", "a.b"]],
    ["AAAA at the name, A too", [setOf("@", "AAAA", "::1")], ["www", "a.b"]],
    ["CNAME at the name", [setOf("www", "CNAME", "a.test")], ["@", "a.b"]],
    ["a wildcard that covers names", [setOf("*", "A", "192.0.2.1")], ["@"]],
    ["a CNAME of a wildcard", [setOf("*.b", "CNAME", "a.test")], ["@", "www"]],
    [
      "not a wildcard that another name keeps away",
      [setOf("*", "A", "192.0.2.1"), setOf("b", "TXT", "a")],
      ["@", "a.b"],
    ],
    ["a delegation of the name", [setOf("www", "NS", "ns.test")], ["@", "a.b"]],
    ["a delegation above the name", [setOf("b", "NS", "ns.test")], ["@", "www"]],
    ["not other types", [setOf("*", "TXT", "a"), setOf("www", "MX", "0 .")], ["@", "www", "a.b"]],
  ];
  for (const [what, sets, left] of cases) test(what, () => assert.deepEqual(ownersLeft(sets), left));
});
