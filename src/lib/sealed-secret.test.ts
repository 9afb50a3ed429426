import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { systemRandom } from "#lib/random.ts";
import { createSealer, type MasterKey, parseMasterKey, UnreadableSecret } from "#lib/sealed-secret.ts";
import { Secret } from "#lib/secret.ts";

const newKey = (id: string): MasterKey => ({ id, key: new Secret(systemRandom.bytes(32)) });
const firstKey = newKey("2026");
const secondKey = newKey("2027");
const random = systemRandom;
const sealer = createSealer({ keys: [firstKey], random });
const row = "api_keys.secret/42";

test("a sealed secret opens in its own row and prints nothing", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (plaintext) => {
      const opened = sealer.open(row, sealer.seal(row, new Secret(plaintext)));
      assert.equal(opened.reveal(), plaintext);
      assert.equal(`${opened}`, "[secret]");
    }),
  );
});

test("the same secret never seals to the same bytes, and the bytes do not show it", () => {
  const one = sealer.seal(row, new Secret("correct horse"));
  const two = sealer.seal(row, new Secret("correct horse"));
  assert.notDeepEqual(one, two);
  assert.equal(one.includes("correct"), false);
});

test("a secret copied into another row does not open", () => {
  const sealed = sealer.seal(row, new Secret("hello"));
  assert.throws(() => sealer.open("api_keys.secret/43", sealed), UnreadableSecret);
});

test("a sealed secret with any changed or missing octet does not open", () => {
  const sealed = sealer.seal(row, new Secret("hello"));
  for (let at = 0; at < sealed.length; at++) {
    const altered = Buffer.from(sealed);
    altered.writeUInt8(altered.readUInt8(at) ^ 1, at);
    assert.throws(() => sealer.open(row, altered), UnreadableSecret);
    assert.throws(() => sealer.open(row, sealed.subarray(0, at)), UnreadableSecret);
  }
  assert.throws(() => sealer.open(row, Buffer.concat([sealed, Buffer.from([0])])), UnreadableSecret);
});

test("after a rotation old secrets still open and need to be sealed again", () => {
  const old = sealer.seal(row, new Secret("hello"));
  const rotated = createSealer({ keys: [secondKey, firstKey], random });
  assert.equal(rotated.open(row, old).reveal(), "hello");
  assert.equal(rotated.needsReseal(old), true);
  const fresh = rotated.seal(row, rotated.open(row, old));
  assert.equal(rotated.needsReseal(fresh), false);
  assert.equal(
    createSealer({ keys: [secondKey], random })
      .open(row, fresh)
      .reveal(),
    "hello",
  );
});

test("the error names a missing key, so that it can be configured again", () => {
  const sealed = sealer.seal(row, new Secret("hello"));
  const without = createSealer({ keys: [secondKey], random });
  assert.throws(() => without.open(row, sealed), { name: "UnreadableSecret", message: /"2026": configure that key/ });
});

test("another key under the same id does not open, and the error says so", () => {
  const sealed = sealer.seal(row, new Secret("hello"));
  const impostor = createSealer({ keys: [newKey("2026")], random });
  assert.throws(() => impostor.open(row, sealed), { name: "UnreadableSecret", message: /changed under its id/ });
});

test("refuses to start without a key, with two keys of one id, a malformed id or a short key", () => {
  assert.throws(() => createSealer({ keys: [], random }), /No master key/);
  assert.throws(() => createSealer({ keys: [firstKey, newKey("2026")], random }), /same id/);
  for (const id of ["", "A", "a b", "a".repeat(33), "ü"]) {
    assert.throws(() => createSealer({ keys: [newKey(id)], random }), /id must be/);
  }
  const short = { id: "short", key: new Secret(Buffer.alloc(16)) };
  assert.throws(() => createSealer({ keys: [short], random }), /must be 32 octets/);
});

test("an HMAC depends on key, context and data, and on where one ends and the other begins", () => {
  const mac = sealer.hmac("cursor", "abc");
  assert.equal(mac.length, 32);
  assert.deepEqual(sealer.hmac("cursor", Buffer.from("abc")), mac);
  const others = [
    sealer.hmac("cursor", "abd"),
    sealer.hmac("cursora", "bc"),
    sealer.hmac("idempotency body", "abc"),
    createSealer({ keys: [secondKey], random }).hmac("cursor", "abc"),
  ];
  for (const other of others) assert.notDeepEqual(other, mac);
});

test("an HMAC made before a rotation is still recognised after it", () => {
  const mac = sealer.hmac("cursor", "abc");
  const rotated = createSealer({ keys: [secondKey, firstKey], random });
  assert.notDeepEqual(rotated.hmac("cursor", "abc"), mac);
  assert.equal(rotated.isHmac("cursor", "abc", mac), true);
  assert.equal(rotated.isHmac("cursor", "abd", mac), false);
  assert.equal(rotated.isHmac("cursor", "abc", mac.subarray(1)), false);
  assert.equal(createSealer({ keys: [secondKey], random }).isHmac("cursor", "abc", mac), false);
});

test("a master key is read from hex or base64, with white space around it", () => {
  const key = systemRandom.bytes(32);
  const spellings = [
    key.toString("hex"),
    key.toString("hex").toUpperCase(),
    `${key.toString("hex")}\n`,
    key.toString("base64"),
    key.toString("base64").replace("=", ""),
    key.toString("base64url"),
  ];
  for (const text of spellings) assert.deepEqual(parseMasterKey(text).reveal(), key);
});

test("refuses a master key of another size or alphabet without repeating it", () => {
  const good = "5f".repeat(31);
  const malformed = [
    "",
    good,
    `${good}5`,
    `${good}5f5f`,
    `${good}zz`,
    "c2VjcmV0",
    "a".repeat(44),
    `${"a".repeat(42)}==`,
  ];
  for (const text of malformed) {
    assert.throws(
      () => parseMasterKey(text),
      (error) => error instanceof Error && /openssl rand -hex 32/.test(error.message) && !error.message.includes(good),
    );
  }
});

test("refuses a placeholder as master key", () => {
  assert.throws(() => parseMasterKey("00".repeat(32)), /placeholder/);
});

test("a master key never prints", () => {
  assert.equal(JSON.stringify(firstKey), '{"id":"2026","key":"[secret]"}');
});
