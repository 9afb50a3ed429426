import assert from "node:assert/strict";
import { test } from "node:test";
import { InvalidHostIdentifier, parseHostIdentifier } from "#lib/host-identifier.ts";

const reservedHosts = ["api.deedhouse.example", "xn--bcher-kva.example", "status-page"];

/** The input, and its canonical form. */
const validIdentifiers: readonly (readonly [string, string])[] = [
  ["myshop", "myshop"],
  ["MyShop", "myshop"],
  ["my-shop.example", "my-shop.example"],
  ["My-Shop.Example.", "my-shop.example"],
  ["www.my-shop.example", "www.my-shop.example"],
  ["mail.my-shop.example", "mail.my-shop.example"],
  ["bücherei.example", "xn--bcherei-n2a.example"],
  ["日本ショップabc", "xn--abc-wk4b9b9fsew640cdoc"],
  ["пример", "xn--e1afmkfd"],
  ["оса.рф", "xn--80a1aj.xn--p1ai"],
  ["deedhouse.example", "deedhouse.example"],
  ["notapi.deedhouse.example.net", "notapi.deedhouse.example.net"],
  ["wwwshop", "wwwshop"],
  ["localhosting", "localhosting"],
  [`${"a".repeat(60)}.`.repeat(3) + "b".repeat(60), `${"a".repeat(60)}.`.repeat(3) + "b".repeat(60)],
];

/** The input, and words of the reason. */
const invalidIdentifiers: readonly (readonly [string, RegExp])[] = [
  ["", /is empty/],
  ["../x", /empty label|letters, digits and hyphens/],
  ["a/b", /letters, digits and hyphens/],
  ["a\\b", /letters, digits and hyphens/],
  ["%2e%2e", /letters, digits and hyphens/],
  ["a'b", /letters, digits and hyphens/],
  ["shop\0", /space or a control/],
  ["shop\r\n", /space or a control/],
  ["a b", /space or a control/],
  ["-shop", /hyphen/],
  ["my_shop", /letters, digits and hyphens/],
  ["a".repeat(64), /too long/],
  ["a".repeat(300), /too long/],
  [`${"a".repeat(60)}.`.repeat(3) + "b".repeat(61), /at most 243/],
  ["127.0.0.1", /not an IP address/],
  ["2130706433", /not an IP address/],
  ["0x7f000001", /not an IP address/],
  ["[::1]", /letters, digits and hyphens/],
  ["www", /reserved/],
  ["WWW.", /reserved/],
  ["ftp", /reserved/],
  ["mail", /reserved/],
  ["mail2", /reserved/],
  ["admin", /reserved/],
  ["ａｄｍｉｎ", /reserved/],
  ["localhost", /reserved/],
  ["ns1", /reserved/],
  ["a.localhost", /never public/],
  ["printer.local", /never public/],
  ["db.internal", /never public/],
  ["internal", /never public/],
  ["x.invalid", /never public/],
  ["1.0.0.127.in-addr.arpa", /never public/],
  ["abc.onion", /never public/],
  ["api.deedhouse.example", /own names/],
  ["API.Deedhouse.Example.", /own names/],
  ["a.b.api.deedhouse.example", /own names/],
  ["bücher.example", /own names/],
  ["status-page", /own names/],
  ["my-shоp.example", /mixes scripts/], // Cyrillic о
  ["myshορ", /mixes scripts/], // Greek ο and ρ
  ["ᎠᏢ", /mixes scripts/], // Cherokee
  ["рауре", /looks like Latin/], // all Cyrillic
  ["рауре.com", /looks like Latin/],
];

for (const [text, expected] of validIdentifiers) {
  test(`reads the identifier ${text.slice(0, 40)}`, () => {
    assert.equal(String(parseHostIdentifier(text, { reservedHosts })), expected);
  });
}

for (const [text, reason] of invalidIdentifiers) {
  test(`refuses the identifier ${JSON.stringify(text).slice(0, 40)}`, () => {
    assert.throws(
      () => parseHostIdentifier(text, { reservedHosts }),
      (error) => error instanceof InvalidHostIdentifier && reason.test(error.message),
    );
  });
}

test("the longest identifier still fits in front of the site domain", () => {
  const longest = `${"a".repeat(60)}.`.repeat(3) + "b".repeat(60);
  assert.equal(longest.length, 243);
  assert.equal(`${longest}.localhost`.length, 253);
  assert.throws(() => parseHostIdentifier(longest, { reservedHosts: [], siteDomain: "sites.example" }), /at most 239/);
});
