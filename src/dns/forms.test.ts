import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { parseRdata, printRdata, type RecordType, recordTypes } from "#dns/forms.ts";
import { tokensOf } from "#dns/master-file.ts";
import { FormProblem } from "#dns/names.ts";
import { recordTexts } from "#dns/test-records.ts";
import { seed } from "../../test/properties/seed.ts";

const rdataOf = (type: RecordType, text: string) => parseRdata(type, tokensOf(text));
const canonical = (type: RecordType, text: string) => printRdata(type, rdataOf(type, text));

for (const type of recordTypes) {
  test(`the printed text of any ${type} record has the same bytes, and is printed the same again`, () => {
    fc.assert(
      fc.property(recordTexts[type], (text) => {
        const rdata = rdataOf(type, text);
        const printed = printRdata(type, rdata);
        assert.deepEqual(rdataOf(type, printed), rdata);
        assert.equal(canonical(type, printed), printed);
      }),
      { seed },
    );
  });
}

const forms: [RecordType, string, string, string?][] = [
  ["A", "192.0.2.1", "192.0.2.1", "c0000201"],
  ["AAAA", "2001:DB8:0:0:0::1", "2001:db8::1", "20010db8000000000000000000000001"],
  ["CNAME", "WWW.Example.com", "www.example.com."],
  ["CNAME", "bücher.example", "xn--bcher-kva.example."],
  ["CNAME", "_a.b.c", "_a.b.c."],
  ["PTR", "10.example.com.", "10.example.com."],
  ["MX", "10 Mail.example.com", "10 mail.example.com.", "000a046d61696c076578616d706c6503636f6d00"],
  ["MX", "0 .", "0 .", "000000"],
  ["SRV", "0 5 5060 sip.example.com", "0 5 5060 sip.example.com."],
  ["SRV", "0 0 0 .", "0 0 0 .", "00000000000000"],
  ["TXT", "a b", '"a" "b"', "01610162"],
  ["TXT", '"a b" ""', '"a b" ""', "0361206200"],
  ["TXT", String.raw`"\"\\\007é;("`, String.raw`"\"\\\007\195\169;("`],
  ["CAA", '0 Issue "ca.example.net; account=230123"', '0 issue "ca.example.net; account=230123"'],
  ["CAA", '0 issue ";"', '0 issue ";"', "00056973737565" + "3b"],
  ["CAA", '128 iodef "mailto:a@b.c"', '128 iodef "mailto:a@b.c"'],
  ["SSHFP", `4 2 ${"ab".repeat(16)} ${"cd".repeat(16)}`, `4 2 ${"AB".repeat(16)}${"CD".repeat(16)}`],
  ["TLSA", "3 1 0 aabb", "3 1 0 AABB", "030100aabb"],
  ["DS", `1 13 2 ${"0f".repeat(32)}`, `1 13 2 ${"0F".repeat(32)}`],
  // RFC 9460 appendix D.
  ["HTTPS", "0 foo.example.com.", "0 foo.example.com.", "000003666f6f076578616d706c6503636f6d00"],
  ["SVCB", "1 .", "1 .", "000100"],
  [
    "SVCB",
    "16 foo.example.com. port=53",
    "16 foo.example.com. port=53",
    "001003666f6f076578616d706c6503636f6d00000300020035",
  ],
  [
    "SVCB",
    "1 foo.example.com. key667=hello",
    '1 foo.example.com. key667="hello"',
    "000103666f6f076578616d706c6503636f6d00029b000568656c6c6f",
  ],
  ["SVCB", String.raw`1 foo.example.com. key667="hello\210qoo"`, String.raw`1 foo.example.com. key667="hello\210qoo"`],
  [
    "SVCB",
    '1 foo.example.com. ipv6hint="2001:db8::1,2001:db8::53:1"',
    "1 foo.example.com. ipv6hint=2001:db8::1,2001:db8::53:1",
  ],
  [
    "SVCB",
    "16 foo.example.org. alpn=h2,h3-19 mandatory=ipv4hint,alpn ipv4hint=192.0.2.1",
    "16 foo.example.org. mandatory=alpn,ipv4hint alpn=h2,h3-19 ipv4hint=192.0.2.1",
    "001003666f6f076578616d706c65036f7267000000000400010004000100090268320568332d3139000400" + "04c0000201",
  ],
  ["HTTPS", "1 . alpn=h2 no-default-alpn ech=AAA=", "1 . alpn=h2 no-default-alpn ech=AAA="],
  ["HTTPS", "1 . dohpath=/q{?dns}", '1 . key7="/q{?dns}"'],
];

for (const [type, text, printed, hex] of forms) {
  test(`${type} ${text.slice(0, 60)} is kept as ${printed.slice(0, 60)}`, () => {
    assert.equal(canonical(type, text), printed);
    if (hex) assert.equal(rdataOf(type, text).toString("hex"), hex);
  });
}

const refused: Readonly<Record<RecordType, string[]>> = {
  A: ["", "1.2.3", "1.2.3.4.5", "1.2.3.256", "01.2.3.4", "::1", "1.2.3.4 5", "host.example", String.raw`\# 4 01020304`],
  AAAA: ["1.2.3.4", ":::", "fe80::1%eth0", "2001:db8::1::2"],
  CAA: [
    "0 issue",
    "256 issue ca.test",
    "0 is-sue ca.test",
    '0 issue "ca_x test"',
    '0 issuewild "ca.test; x"',
    '0 iodef "foo"',
    '0 issue "a" "b"',
  ],
  CNAME: [
    "a b",
    "a..b",
    "*.example.com",
    String.raw`a\.b`,
    `${"a".repeat(64)}.b`,
    `${"abcdefg.".repeat(40)}b`,
    '"a.b"',
  ],
  DS: [
    "1 13 2",
    "1 13 2 aabb",
    `1 0 2 ${"00".repeat(32)}`,
    `1 13 3 ${"00".repeat(32)}`,
    `65536 13 2 ${"00".repeat(32)}`,
    "1 13 2 xy",
  ],
  HTTPS: [
    "1",
    "0 a.test alpn=h2",
    "1 _a.test alpn=h2",
    "1 . alpn=h2 alpn=h3",
    "1 . alpn=h2,,h3",
    "1 . alpn=h",
    String.raw`1 . alpn="a\\,b"`,
    "1 . no-default-alpn",
    "1 . alpn=h2 no-default-alpn=1",
    "1 . mandatory=alpn",
    "1 . mandatory=mandatory",
    "1 . alpn=h2 mandatory=alpn,alpn",
    "1 . port=65536",
    "1 . ipv4hint=",
    "1 . ipv6hint=1.2.3.4",
    "1 . ech=*",
    "1 . key3=a",
    "1 . key65535=a",
    "1 . key01=a",
    "1 . ohttp",
    "1 . dohpath=/q",
    "1 . key7=/q",
    '1 . "alpn=h2"',
    '1 . al"pn"=h2',
  ],
  MX: ["mail.example.com", "10 1.2.3.4", "10 .", "10 _a.b", "65536 a.b", "-1 a.b", "10 a.b c"],
  NS: ["192.0.2.1", ".", "_a.b", "-a.b", "a-.b"],
  PTR: ["", "a b"],
  SRV: ["0 0 5060", "0 0 65536 a.b", "0 0 1 1.2.3.4", "0 0 1 _a.b"],
  SSHFP: ["1 1 aabb", `5 1 ${"00".repeat(20)}`, `1 3 ${"00".repeat(20)}`, "1 1"],
  SVCB: ["65536 .", "1"],
  TLSA: ["4 1 1 aa", "3 2 0 aa", "3 1 3 aa", "3 1 1 aabb", "3 1 0", "3 1 0 abc"],
  TXT: [
    "",
    `"${"a".repeat(256)}"`,
    '"open',
    'a="b"',
    "a;b",
    "(a)",
    String.raw`"\256"`,
    String.raw`"\1"`,
    "\\",
    '"a\n"',
    `${`"${"a".repeat(255)}" `.repeat(17)}`,
  ],
};

describe("what no strict server would take is refused", () => {
  for (const type of recordTypes) {
    for (const text of refused[type]) {
      test(`as ${type}: ${text.length > 60 ? `${text.slice(0, 60)}…` : text}`, () => {
        assert.throws(() => rdataOf(type, text), FormProblem);
      });
    }
  }
});
