import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { newOrderCode, parseOrderCode } from "#lib/order-code.ts";
import { systemRandom } from "#lib/random.ts";

test("a new code is REG-XXXXXXXX-XXX in Crockford base32 and reads back as itself", () => {
  for (let count = 0; count < 1000; count++) {
    const code = newOrderCode(systemRandom, "REG");
    assert.match(code, /^REG-[0-9A-HJKMNP-TV-Z]{8}-[0-9A-HJKMNP-TV-Z]{3}$/);
    assert.equal(parseOrderCode(code), code);
  }
});

test("the random bytes decide every symbol", () => {
  const counting = {
    ...systemRandom,
    bytes: (size: number) => Buffer.from(Array.from({ length: size }, (_, at) => at)),
  };
  assert.equal(newOrderCode(counting, "REG"), "REG-01234567-89A");
  const highest = { ...systemRandom, bytes: (size: number) => Buffer.alloc(size, 255) };
  assert.equal(newOrderCode(highest, "REG"), "REG-ZZZZZZZZ-ZZZ");
});

test("reads any case and the look-alikes o, i and l", () => {
  assert.equal(parseOrderCode("reg-0123abcd-xyz"), "REG-0123ABCD-XYZ");
  assert.equal(parseOrderCode("Reg-oOiIlL00-xyZ"), "REG-00111100-XYZ");
});

test("has another prefix for renewals and for other changes of a name", () => {
  assert.match(newOrderCode(systemRandom, "CHG"), /^CHG-/);
  assert.equal(parseOrderCode("ren-0123abcd-xyz"), "REN-0123ABCD-XYZ");
  assert.equal(parseOrderCode("ren-0123abcd-xyz", "REG"), undefined);
});

const malformed = [
  "",
  "REG-0123ABCD",
  "REG-0123ABC-XYZ",
  "REG-0123ABCD-XYZ0",
  "REG-0123ABCD-XY",
  "REG0123ABCDXYZ",
  "ORD-0123ABCD-XYZ",
  "REG-0123ABCU-XYZ",
  " REG-0123ABCD-XYZ",
  "REG-0123ABCD-XYZ\n",
  "REG-0123ABC\u212a-XYZ",
];
for (const text of malformed) {
  test(`refuses ${JSON.stringify(text)}`, () => assert.equal(parseOrderCode(text), undefined));
}

test("reading a read code changes nothing", () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[rR][eE][gG]-[0-9A-Za-z]{8}-[0-9A-Za-z]{3}$/), (text) => {
      const code = parseOrderCode(text);
      assert.equal(code === undefined, /u/i.test(text));
      if (code !== undefined) assert.equal(parseOrderCode(code), code);
    }),
  );
});
