import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { parseRecordSet, RecordProblem } from "#dns/records.ts";

const zone = "example.com";
type Input = { subname?: string; type?: string; ttl?: number; records?: string[] };
const parse = ({ subname = "www", type = "A", ttl, records = [] }: Input) =>
  parseRecordSet(zone, { subname, type, ttl, records });

function problemOf(input: Input): RecordProblem {
  try {
    parse(input);
  } catch (error) {
    if (error instanceof RecordProblem) return error;
    throw error;
  }
  return assert.fail("it was accepted");
}

test("a set is kept in canonical form", () => {
  const set = parse({ subname: "WWW", type: "mx", records: ["10 Mail.Example.com", "20 b.example."] });
  const records = ["10 mail.example.com.", "20 b.example."];
  assert.deepEqual(set, { owner: "www", type: "MX", ttl: 3600, records });
  assert.equal(parse({ subname: "bücher" }).owner, "xn--bcher-kva");
  assert.equal(parse({ subname: "*.a" }).owner, "*.a");
  assert.equal(parse({ subname: "10" }).owner, "10");
  assert.equal(parse({ subname: "@" }).owner, "@");
  assert.equal(parse({ subname: "gc._msdcs" }).owner, "gc._msdcs");
});

test("a text that does not begin with a quote is taken as it is", () => {
  const { records } = parse({ type: "TXT", records: ['v=spf1; "a" \\ (\n', "é".repeat(200)] });
  assert.equal(records[0], String.raw`"v=spf1; \"a\" \\ (\010"`);
  assert.equal(records[1], `"${"\\195\\169".repeat(127)}\\195" "${"\\169"}${"\\195\\169".repeat(72)}"`);
  assert.deepEqual(parse({ type: "TXT", records: ['"a" "b"'] }).records, ['"a" "b"']);
});

describe("a set is refused", () => {
  const cases: [string, Input, string][] = [
    ["with a name in another zone's form", { subname: "www.example.com." }, "subname"],
    ["with an empty name", { subname: "" }, "subname"],
    ["with an empty label", { subname: "a..b" }, "subname"],
    ["with a long label", { subname: "a".repeat(64) }, "subname"],
    ["with a long label with _", { subname: `_${"a".repeat(63)}` }, "subname"],
    ["with a long name", { subname: "abcdefg.".repeat(31).slice(0, -1) }, "subname"],
    ["with an escape in the name", { subname: "a\\046b" }, "subname"],
    ["with a space in the name", { subname: "a b" }, "subname"],
    ["with NUL in the name", { subname: "a\0" }, "subname"],
    ["with a line break in the name", { subname: "a\nb" }, "subname"],
    ["with * within a label", { subname: "a*" }, "subname"],
    ["with * that is not leftmost", { subname: "a.*" }, "subname"],
    ["with $INCLUDE as a name", { subname: "$INCLUDE" }, "subname"],
    ["at the service's marker", { subname: "_deedhouse-serial", type: "TXT" }, "subname"],
    ["below the service's marker", { subname: "a._Deedhouse-serial", type: "TXT" }, "subname"],
    ["as A at a name with _", { subname: "_a" }, "subname"],
    ["as MX at a name with _", { subname: "_a", type: "MX" }, "subname"],
    ["with a short TTL", { ttl: 59 }, "ttl"],
    ["with a long TTL", { ttl: 86_401 }, "ttl"],
    ["with a part of a second", { ttl: 60.5 }, "ttl"],
    ["as a CNAME of the zone itself", { subname: "@", type: "CNAME", records: ["a.b"] }, "type"],
    ["as NS of the zone itself", { subname: "@", type: "NS" }, "type"],
    ["as DS of the zone itself", { subname: "@", type: "DS" }, "type"],
    ["as NS of a wildcard", { subname: "*", type: "NS" }, "type"],
    ["as DS of a wildcard", { subname: "*.a", type: "DS" }, "type"],
    ["with two CNAMEs", { type: "CNAME", records: ["a.b", "b.b"] }, "records/1"],
    ["with a record twice", { type: "AAAA", records: ["::1", "::2", "0::1"] }, "records/2"],
    ["with a null MX beside another", { type: "MX", records: ["10 a.b", "0 ."] }, "records/1"],
    ["with a SRV without a target beside another", { type: "SRV", records: ["0 0 0 .", "0 0 1 a.b"] }, "records/0"],
    ["with a line break in a record", { type: "CNAME", records: ["a.b", "a.b\nc"] }, "records/1"],
    ["with an empty text", { type: "TXT", records: [""] }, "records/0"],
    ["with an open quote", { type: "TXT", records: ['"a'] }, "records/0"],
  ];
  for (const [why, input, path] of cases) {
    test(why, () => {
      const problem = problemOf(input);
      assert.equal(problem.path, path);
      assert.match(problem.message, /^[^\0-\x1f]+\.$/);
    });
  }
});

describe("a type is refused, each with its reason", () => {
  const cases: [string, RegExp][] = [
    ["SOA", /written by the service/],
    ["DNSKEY", /signed/],
    ["CDS", /signed/],
    ["CDNSKEY", /signed/],
    ["RRSIG", /signed/],
    ["NSEC", /signed/],
    ["NSEC3", /signed/],
    ["NSEC3PARAM", /signed/],
    ["DNAME", /not supported/],
    ["SPF", /use TXT/],
    ["ALIAS", /use CNAME/],
    ["ANAME", /use CNAME/],
    ["LOC", /not supported/],
    ["ANY", /question/],
    ["TYPE1", /not its number/],
    ["1", /not its number/],
    ["WKS", /not a type/],
    ["a\r\nb", /This type/],
    ["constructor", /not a type/],
  ];
  for (const [type, reason] of cases) {
    test(`as ${JSON.stringify(type)}`, () => {
      const problem = problemOf({ type });
      assert.equal(problem.path, "type");
      assert.match(problem.message, reason);
    });
  }
});

test("no zone has one label", () => {
  assert.throws(() => parseRecordSet("com", { subname: "a", type: "A", records: [] }), /"com" is not/);
});
