import assert from "node:assert/strict";
import { test } from "node:test";
import { newAuthCode } from "#lib/auth-code.ts";
import { systemRandom } from "#lib/random.ts";

test("an auth code has 128 random bits, and a character of each class that registries demand", () => {
  const codes = Array.from({ length: 1_000 }, () => newAuthCode(systemRandom).reveal());
  assert.equal(new Set(codes).size, codes.length);
  for (const code of codes) {
    // 22 characters of base64url are 128 bits (RFC 4648 §5).
    assert.match(code, /^[A-Za-z0-9_-]{22}-7Qz$/);
  }
  for (const first of codes.map((code) => Buffer.from(code.slice(0, 22), "base64url"))) assert.equal(first.length, 16);
});
