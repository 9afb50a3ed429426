import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parseRecordSet, RecordProblem } from "#dns/records.ts";
import { checkZone, zoneLimitsDefault } from "#dns/rules.ts";

const zone = "example.com";
/** "www A 192.0.2.1", a record each. */
const setsOf = (lines: readonly string[]) =>
  [...Map.groupBy(lines, (line) => line.split(" ").slice(0, 2).join(" "))].map(([head, ofSet]) => {
    const [subname = "", type = ""] = head.split(" ");
    return parseRecordSet(zone, { subname, type, records: ofSet.map((line) => line.slice(head.length + 1)) });
  });
const ds = `DS 1 13 2 ${"00".repeat(32)}`;

describe("a zone is accepted", () => {
  const zones: Readonly<Record<string, string[]>> = {
    "when it is empty": [],
    "with a delegation to servers elsewhere": ["sub NS ns.example.net", `sub ${ds}`],
    "with a delegation and its glue": ["sub NS ns.sub.example.com", "ns.sub A 192.0.2.1", "ns.sub AAAA 2001:db8::1"],
    "with a name server at the delegated name": ["sub NS sub.example.com", "sub A 192.0.2.1"],
    "with a name server beside the delegation": ["sub NS ns.example.com", "ns A 192.0.2.1"],
    "with the zone itself as a name server": ["sub NS example.com", "@ A 192.0.2.1"],
    "with a name server that a wildcard covers": ["sub NS ns.a.example.com", "*.a A 192.0.2.1"],
    "with a name server for which another delegation answers": ["sub NS x.b.example.com", "b NS ns.example.net"],
    "with MX to a host that has no address here": ["@ MX 10 mail.example.com"],
    "with a chain of CNAMEs": ["a CNAME b.example.com", "b CNAME c.example.com"],
  };
  for (const [what, lines] of Object.entries(zones)) test(what, () => checkZone(zone, setsOf(lines)));
});

describe("a zone is refused", () => {
  const zones: Readonly<Record<string, [path: string, lines: string[]]>> = {
    "with a CNAME beside another set": ["www/CNAME", ["www CNAME a.b", "www TXT a"]],
    "with MX to a CNAME": ["@/MX", ["@ MX 10 mail.example.com", "mail CNAME a.b"]],
    "with MX to a CNAME of a wildcard": ["@/MX", ["@ MX 10 mail.example.com", "* CNAME a.b"]],
    "with SRV to a CNAME": ["_a._tcp/SRV", ["_a._tcp SRV 0 0 1 s.example.com", "s CNAME a.b"]],
    "with NS to a CNAME": ["sub/NS", ["sub NS s.example.com", "s CNAME a.b"]],
    "with DS without NS": ["sub/DS", [`sub ${ds}`]],
    "with another set at a delegation": ["sub/TXT", ["sub NS ns.example.net", "sub TXT a"]],
    "with an address at a delegation": ["sub/A", ["sub NS ns.example.net", "sub A 192.0.2.1"]],
    "with another set below a delegation": [
      "a.sub/TXT",
      ["sub NS a.sub.example.com", "a.sub A 192.0.2.1", "a.sub TXT a"],
    ],
    "with an address below a delegation that is no glue": ["b.sub/A", ["sub NS ns.example.net", "b.sub A 192.0.2.1"]],
    "with a delegation below a delegation": ["a.sub/NS", ["sub NS ns.example.net", "a.sub NS ns.example.net"]],
    "without the glue of a delegation": ["sub/NS", ["sub NS ns.sub.example.com"]],
    "without the address of a name server": ["sub/NS", ["sub NS ns.example.com"]],
    "without the address of the zone itself": ["sub/NS", ["sub NS example.com"]],
    "with a name server that has other sets only": ["sub/NS", ["sub NS ns.example.com", "ns TXT a"]],
    "with a name server that is another delegation": ["a/NS", ["a NS b.example.com", "b NS ns.example.net"]],
  };
  for (const [what, [path, lines]] of Object.entries(zones)) {
    test(what, () => {
      assert.throws(
        () => checkZone(zone, setsOf(lines)),
        (error) => error instanceof RecordProblem && error.path === path && error.message.endsWith("."),
      );
    });
  }
});

describe("a zone has limits:", () => {
  const addresses = (count: number) =>
    Array.from({ length: count }, (_, index) => `a A 192.0.${index >> 8}.${index & 255}`);
  const isAt = (path: string) => (error: unknown) => error instanceof RecordProblem && error.path === path;

  test("records of a set", () => {
    checkZone(zone, setsOf(addresses(100)));
    assert.throws(() => checkZone(zone, setsOf(addresses(101))), isAt("a/A"));
  });

  test("records in all", () => {
    const limits = Object.assign({}, zoneLimitsDefault, { zoneRecordsMax: 2 });
    checkZone(zone, setsOf(["a A 192.0.2.1", "b A 192.0.2.1"]), limits);
    assert.throws(
      () => checkZone(zone, setsOf(["a A 192.0.2.1", "b A 192.0.2.1", "c A 192.0.2.1"]), limits),
      isAt("records"),
    );
  });

  test("bytes of the zone file", () => {
    const text = (owner: string) => `${owner} TXT ${"\u0001".repeat(4_000)}`;
    const owners = Array.from({ length: 16 }, (_, index) => `t${index}`);
    checkZone(zone, setsOf(owners.slice(1).map(text)));
    assert.throws(() => checkZone(zone, setsOf(owners.concat("u").map(text))), isAt("records"));
  });

  test("bytes of a set on the wire", () => {
    const text = (index: number) => `t TXT ${String(index).padStart(4_000, "a")}`;
    checkZone(zone, setsOf(Array.from({ length: 14 }, (_, index) => text(index))));
    assert.throws(() => checkZone(zone, setsOf(Array.from({ length: 15 }, (_, index) => text(index)))), isAt("t/TXT"));
  });

  test("no set is there twice", () => {
    const [set] = setsOf(["a A 192.0.2.1"]);
    assert.throws(() => checkZone(zone, [set!, set!]), isAt("a/A"));
  });
});
