import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { ZoneFileProblem } from "#dns/master-file.ts";
import { parseRecordSet } from "#dns/records.ts";
import { plainSets } from "#dns/test-records.ts";
import { parseZoneFile, printZoneFile } from "#dns/zone-file.ts";
import { seed } from "../../test/properties/seed.ts";

const zone = "example.com";
const head = {
  soa: "ns1.dns.test. h.dns.test. 1 3600 600 2419200 300",
  nameServers: ["ns1.dns.test", "ns2.dns.test."],
};

test("what is printed is read again as the same sets", () => {
  fc.assert(
    fc.property(plainSets, (inputs) => {
      const sets = inputs.map((input) => parseRecordSet(zone, input));
      const { sets: read, skipped } = parseZoneFile(zone, printZoneFile(zone, sets, head));
      assert.deepEqual(read, sets);
      assert.deepEqual(
        skipped.map(({ line }) => line),
        [3, 4, 5],
      );
    }),
    { seed },
  );
});

test("any text is either read or refused with a line", () => {
  const piece = fc.constantFrom(
    "(",
    ")",
    '"',
    "\\",
    ";",
    "\n",
    " ",
    "@",
    "a",
    "IN",
    "A",
    "TXT",
    "1.2.3.4",
    "$TTL",
    "300",
    "\0",
    "é",
  );
  fc.assert(
    fc.property(
      fc.array(piece).map((pieces) => pieces.join("")),
      (text) => {
        try {
          parseZoneFile(zone, text);
        } catch (error) {
          assert.ok(error instanceof ZoneFileProblem && error.line >= 1, String(error));
        }
      },
    ),
    { seed },
  );
});

test("the whole syntax of RFC 1035 §5 is read", () => {
  const text = String.raw`; a comment
$ORIGIN com.
$TTL 1h30m
example  IN SOA ns1.other.test. h.other.test. ( 1 ; serial
   2h 15m
   3w 1d )
         NS ns1.other.test.
$ORIGIN example
@        300 IN MX 10 mail
         IN 300 MX ( 20
           mail.example.net. )
mail     A 192.0.2.1
         AAAA 2001:db8::1
*.Sub    in txt "a;b" c\"d "\101(" ; end
www.example.com. 1D cname @
$ORIGIN deep.example.com.
x  HTTPS 1 . alpn="h2,h3"`.replaceAll("\n", "\r\n");
  const { sets, skipped } = parseZoneFile(zone, text);
  assert.deepEqual(
    sets.map(({ owner, type, ttl, records }) => [owner, ttl, type, ...records].join(" | ")),
    [
      "@ | 300 | MX | 10 mail.example.com. | 20 mail.example.net.",
      "mail | 5400 | A | 192.0.2.1",
      "mail | 5400 | AAAA | 2001:db8::1",
      String.raw`*.sub | 5400 | TXT | "a;b" "c\"d" "e("`,
      "www | 86400 | CNAME | example.com.",
      "x.deep | 5400 | HTTPS | 1 . alpn=h2,h3",
    ],
  );
  assert.deepEqual(
    skipped.map(({ line, text }) => `${line}: ${text.slice(0, 22)}`),
    ["4: example IN SOA ns1.oth", "7: NS ns1.other.test."],
  );
});

test("without $TTL a record has the TTL of the record before it, and the first one the default", () => {
  const { sets } = parseZoneFile(zone, "a A 192.0.2.1\nb 60 A 192.0.2.1\nc A 192.0.2.1\n");
  assert.deepEqual(
    sets.map(({ ttl }) => ttl),
    [3600, 60, 60],
  );
});

describe("a line is refused with its number:", () => {
  const files: Readonly<Record<string, [line: number, text: string]>> = {
    $INCLUDE: [2, "a A 192.0.2.1\n$INCLUDE /etc/passwd\n"],
    $GENERATE: [1, "$GENERATE 1-9 a$ A 192.0.2.$"],
    "$ORIGIN without a name": [1, "$ORIGIN"],
    "$TTL without a time": [1, "$TTL soon"],
    "a name outside of the zone": [1, "a.example.net. A 192.0.2.1"],
    "a name outside of the zone by $ORIGIN": [2, "$ORIGIN net.\na A 192.0.2.1"],
    "SOA below the apex": [1, "a SOA b c 1 2 3 4 5"],
    "a type that is not served": [2, "\na DNAME b"],
    "a bad record": [3, "a A 192.0.2.1\n\nb A 192.0.2"],
    "a name without a record": [1, "a"],
    "no name": [1, " A 192.0.2.1"],
    "another class": [1, "a CH A 192.0.2.1"],
    "a short TTL": [1, "a 59 A 192.0.2.1"],
    "a long TTL by $TTL": [2, "$TTL 1w\na A 192.0.2.1"],
    "another TTL in one set": [2, "a 60 A 192.0.2.1\na 61 A 192.0.2.2"],
    "a record twice": [3, "a A 192.0.2.1\nb A 192.0.2.1\na A 192.0.2.1"],
    "a second CNAME": [2, "a CNAME b\na CNAME c"],
    "an open parenthesis": [2, "\na TXT ( b\n"],
    "a closing parenthesis": [1, "a TXT ) b"],
    "an open quote": [2, '\na TXT "b\nc"'],
    "a control character": [1, "a TXT b\0"],
    "RDATA as bytes": [1, String.raw`a A \# 4 c0000201`],
    "a type by its number": [1, "a TYPE1 192.0.2.1"],
    "the service's marker": [1, "_deedhouse-serial TXT 1"],
  };
  for (const [what, [line, text]] of Object.entries(files)) {
    test(what, () => {
      assert.throws(
        () => parseZoneFile(zone, text),
        (error) => error instanceof ZoneFileProblem && error.line === line && error.message.endsWith("."),
      );
    });
  }
});
