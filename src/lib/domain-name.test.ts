import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { InvalidDomainName, isDomainName, labelUnderSuffix, parseDomainName, toUnicode } from "#lib/domain-name.ts";

test("a plain name reads the same in upper case", () => {
  const character = fc.constantFrom(..."abx019-.");
  const name = fc.oneof(
    fc.string({ unit: character, maxLength: 12 }),
    fc
      .array(fc.string({ unit: character, minLength: 60, maxLength: 65 }), { maxLength: 5 })
      .map((all) => all.join(".")),
  );
  const read = (text: string) => {
    try {
      return parseDomainName(text);
    } catch (error) {
      return (error as Error).message;
    }
  };
  // Upper case goes through all rules; a plain lower-case name takes a short cut.
  fc.assert(
    fc.property(name, (text) => read(text) === read(text.toUpperCase())),
    { numRuns: 2_000 },
  );
});

/** The input, and its canonical form. */
const validNames: readonly (readonly [string, string])[] = [
  ["example.com", "example.com"],
  ["EXAMPLE.Com", "example.com"],
  ["example.com.", "example.com"],
  ["example.com。", "example.com"],
  ["ｅｘａｍｐｌｅ。com", "example.com"],
  ["a.b.c.d.example.co.uk", "a.b.c.d.example.co.uk"],
  ["1and1.com", "1and1.com"],
  ["0x1f.com", "0x1f.com"],
  ["4.com", "4.com"],
  ["a-b---c.com", "a-b---c.com"],
  ["bücher.example", "xn--bcher-kva.example"],
  ["BÜCHER.example", "xn--bcher-kva.example"],
  ["bu\u0308cher.example", "xn--bcher-kva.example"],
  ["XN--BCHER-KVA.example", "xn--bcher-kva.example"],
  ["faß.de", "xn--fa-hia.de"],
  ["βόλος.gr", "xn--nxasmm1c.gr"],
  ["例え.テスト", "xn--r8jz45g.xn--zckzah"],
  ["l·l.cat", "xn--ll-0ea.cat"],
  ["͵α.gr", "xn--wva4j.gr"],
  ["א׳.com", "xn--4db4e.com"],
  ["ا٣.com", "xn--mgb4j.com"],
  ["日本・語.jp", "xn--vek160nb2acz6g.jp"],
  ["نامه\u200cای.com", "xn--mgba3gch31f060k.com"],
  ["क्\u200dष.example", "xn--11b2ezcw70k.example"],
  ["xn--j50i.com", "xn--j50i.com"],
  [`${"a".repeat(63)}.com`, `${"a".repeat(63)}.com`],
  [`${"a.".repeat(125)}abc`, `${"a.".repeat(125)}abc`],
];

/** The input, and words of the reason. */
const invalidNames: readonly (readonly [string, RegExp])[] = [
  ["", /is empty/],
  [".", /empty label/],
  ["..", /empty label/],
  ["com", /no suffix/],
  ["com.", /no suffix/],
  [".com", /empty label/],
  ["a..b", /empty label/],
  ["example.com..", /empty label/],
  ["-a.com", /begins or ends with a hyphen/],
  ["a-.com", /begins or ends with a hyphen/],
  ["ab--cd.com", /third and fourth place/],
  ["a_b.com", /letters, digits and hyphens/],
  ["a/b.com", /letters, digits and hyphens/],
  ["a／b.com", /letters, digits and hyphens/],
  ["%65xample.com", /letters, digits and hyphens/],
  ["*.example.com", /letters, digits and hyphens/],
  ["user@example.com", /letters, digits and hyphens/],
  ["example.com:80", /letters, digits and hyphens/],
  ["[::1]", /letters, digits and hyphens/],
  ["::ffff:1.2.3.4", /letters, digits and hyphens/],
  ["127.0.0.1", /not an IP address/],
  ["１２７.0.0.１", /not an IP address/],
  ["0x7f.0x1", /not an IP address/],
  ["example.0x", /not an IP address/],
  ["example.123", /not an IP address/],
  ["exa mple.com", /space or a control/],
  [" example.com", /space or a control/],
  ["example.com\n", /space or a control/],
  ["example\u3000.com", /space or a control/],
  ["example\0.com", /space or a control/],
  ["exam\u007fple.com", /space or a control/],
  ["exam\u00adple.com", /invisible/],
  ["exam\u200bple.com", /invisible/],
  ["\ufeffexample.com", /invisible/],
  ["exam\u202eple.com", /invisible/],
  ["xn--.com", /not a valid A-label/],
  ["xn--a-ecp.ru", /not a valid A-label/],
  ["xn--example-.com", /not a valid A-label/],
  ["xn--0.com", /not a valid A-label/],
  ["xn--bücher.com", /not a valid A-label/],
  ["xn--cd9bq2e.com", /not the encoding of any name/],
  ["☃.com", /U\+2603/],
  ["xn--n3h.com", /U\+2603/],
  ["\u0640\u0628.com", /U\+0640/],
  ["a\u20d0b.com", /U\+20D0/],
  ["\u1112.com", /U\+1112/],
  ["a·l.com", /U\+00B7 where/],
  ["͵a.gr", /U\+0375 where/],
  ["׳א.com", /U\+05F3 where/],
  ["a・b.com", /U\+30FB where/],
  ["\u0301a.com", /letters that IDNA does not allow/],
  ["a\u200db.com", /letters that IDNA does not allow/],
  ["a\u200cb.com", /letters that IDNA does not allow/],
  ["ا٣۳.com", /letters that IDNA does not allow/],
  ["1א.com", /letters that IDNA does not allow/],
  ["אa.com", /letters that IDNA does not allow/],
  ["\ud800.com", /letters that IDNA does not allow/],
  [`${"a".repeat(64)}.com`, /too long/],
  [`${"ü".repeat(60)}.com`, /too long/],
  [`${"a.".repeat(125)}abcd`, /too long/],
  [`${"a".repeat(1_000_000)}.com`, /too long/],
];

/** A plain string, as in the tables. */
const read = (text: string): string => parseDomainName(text);

for (const [text, expected] of validNames) {
  test(`reads ${JSON.stringify(text).slice(0, 40)} as ${expected.slice(0, 40)}`, () => {
    assert.equal(read(text), expected);
  });
}

for (const [text, reason] of invalidNames) {
  test(`refuses ${JSON.stringify(text).slice(0, 40)}`, () => {
    assert.throws(
      () => parseDomainName(text),
      (error) => error instanceof InvalidDomainName && reason.test(error.message),
    );
    assert.equal(isDomainName(text), false);
  });
}

test("the reason never repeats the input", () => {
  assert.throws(
    () => parseDomainName("<script>.com"),
    (error) => error instanceof InvalidDomainName && !error.message.includes("script"),
  );
});

test("only the canonical form is a domain name already", () => {
  assert.equal(isDomainName("xn--bcher-kva.example"), true);
  for (const text of ["bücher.example", "Example.com", "example.com.", "com"]) assert.equal(isDomainName(text), false);
});

test("shows a name in U-labels", () => {
  assert.equal(toUnicode(parseDomainName("XN--BCHER-KVA.Example")), "bücher.example");
});

// Without ß and ς: their upper case is that of ss and σ, which are other names (IDNA2008 deviations).
const letters = [..."abcxyz019-éüñøþабвґщαβγδ例え日本語ءبتجहिकाกข가각אבג١٢"];
const label = fc.string({ unit: fc.constantFrom(...letters), minLength: 1, maxLength: 12 });
const names = fc
  .array(label, { minLength: 2, maxLength: 4 })
  .map((labels) => labels.join("."))
  .filter((text) => isParsable(text));

function isParsable(text: string): boolean {
  try {
    parseDomainName(text);
    return true;
  } catch (error) {
    if (error instanceof InvalidDomainName) return false;
    throw error;
  }
}

test("U-label, A-label, any case and a trailing dot reach the same name", () => {
  fc.assert(
    fc.property(names, (text) => {
      const name = parseDomainName(text);
      const spellings = [
        name,
        name.toUpperCase(),
        text.toUpperCase(),
        text.normalize("NFD"),
        toUnicode(name),
        `${text}.`,
      ];
      for (const spelling of spellings) assert.equal(read(spelling), name);
      assert.equal(isDomainName(name), true);
      assert.match(name, /^(?:[a-z0-9-]{1,63}\.)+[a-z0-9-]{1,63}$/);
    }),
    { numRuns: 300 },
  );
});

test("any text is either a name or an InvalidDomainName", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit: "grapheme" })), (text) => {
      for (const candidate of [text, `${text}.com`, `xn--${text}.com`]) {
        if (isParsable(candidate)) assert.equal(isDomainName(parseDomainName(candidate)), true);
      }
    }),
    { numRuns: 300 },
  );
});

test("any accepted A-label stays unchanged", () => {
  const punycode = fc.string({ unit: fc.constantFrom(..."abcdefghijklmnopqrstuvwxyz0123456789-"), maxLength: 10 });
  fc.assert(
    fc.property(punycode, (encoded) => {
      const text = `xn--${encoded}.com`;
      if (isParsable(text)) assert.equal(read(text), text);
    }),
    { numRuns: 1000 },
  );
});

const suffixes = new Set(["com", "uk", "co.uk", "xn--p1ai"]);
const placements: readonly (readonly [string, ReturnType<typeof labelUnderSuffix>])[] = [
  ["example.com", { label: "example", suffix: "com" }],
  ["пример.рф", { label: "xn--e1afmkfd", suffix: "xn--p1ai" }],
  ["example.co.uk", { label: "example", suffix: "co.uk" }],
  ["example.uk", { label: "example", suffix: "uk" }],
  ["co.uk", { refusal: "is_suffix" }],
  ["www.example.com", { refusal: "too_deep" }],
  ["a.example.co.uk", { refusal: "too_deep" }],
  ["example.net", { refusal: "not_served" }],
  ["example.com.net", { refusal: "not_served" }],
];

for (const [name, expected] of placements) {
  test(`${name} is ${"refusal" in expected ? expected.refusal : `one label under ${expected.suffix}`}`, () => {
    assert.deepEqual(labelUnderSuffix(parseDomainName(name), suffixes), expected);
  });
}
