import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import { otherReadings, parseAuthorization, verifySignature } from "#api/signing/signature.ts";
import { keyId, secret, sign } from "#api/signing/test-signature-client.ts";

// The fields of the signed string, in order. An attacker who holds a signed request could cut the string elsewhere.
const nowSeconds = 1700000123;
const windowSeconds = 300;

interface Cut {
  method: string;
  target: string;
  timestamp: string;
  nonce: string;
}

/** Whether a request cut like this would pass: the header's grammar, the time window, the signature. */
function passes({ method, target, timestamp, nonce }: Cut, signature: string, body: string): boolean {
  const authorization = parseAuthorization(`hmac ${keyId}:${signature}:${nonce}:${timestamp}`);
  if (!authorization || Math.abs(authorization.timestamp - nowSeconds) > windowSeconds) return false;
  return verifySignature({ method: method.toUpperCase(), target, body: Buffer.from(body), authorization, secret });
}

const timely = fc.integer({ min: nowSeconds - windowSeconds, max: nowSeconds + windowSeconds });
const word = (characters: string, size: { minLength: number; maxLength: number }) =>
  fc.string({ unit: fc.constantFrom(...characters), ...size });

test("refuses a signed request whose fields were cut elsewhere", () => {
  const request = fc.record({
    method: fc.constantFrom("get", "post", "delete"),
    path: word("ab179/.-", { minLength: 1, maxLength: 20 }),
    timestamp: timely,
    nonce: word("0123456789abcdef", { minLength: 2, maxLength: 20 }),
    body: fc.constantFrom("", "{}"),
  });
  fc.assert(
    fc.property(request, fc.integer({ min: 1, max: 12 }), ({ method, path, timestamp, nonce, body }, shift) => {
      const target = `/${path}`;
      const { signature } = sign({ method, encoded: encodeURIComponent(target), body, nonce, timestamp });
      const cut = { method, target, timestamp: String(timestamp), nonce };
      assert.ok(passes(cut, signature, body));
      const digits = `${target}${timestamp}${nonce}`;
      const at = target.length;
      const shifted: Cut[] = [
        // method | target
        { ...cut, method: method.slice(0, -shift), target: `${method.slice(-shift)}${target}` },
        { ...cut, method: `${method}${target.slice(0, shift)}`, target: target.slice(shift) },
        // target | timestamp
        { ...cut, target: digits.slice(0, at + shift), timestamp: digits.slice(at + shift, at + 10) },
        { ...cut, target: digits.slice(0, at - shift), timestamp: digits.slice(at - shift, at + 10) },
        // timestamp | nonce
        { ...cut, timestamp: digits.slice(at, at + 10 - shift), nonce: digits.slice(at + 10 - shift) },
        { ...cut, timestamp: digits.slice(at, at + 10 + shift), nonce: digits.slice(at + 10 + shift) },
        // both ends of the timestamp together
        ...[shift, -shift].map((by) => ({
          ...cut,
          target: digits.slice(0, Math.max(0, at + by)),
          timestamp: digits.slice(Math.max(0, at + by), at + by + 10),
          nonce: digits.slice(at + by + 10),
        })),
        // nonce | MD5 of the body
        { ...cut, nonce: `${nonce}${createHash("md5").update("{}").digest("base64")}` },
      ];
      for (const other of shifted) {
        const authorization = { keyId, signature, nonce, timestamp };
        const known = otherReadings(
          { method, target, body: Buffer.from(body), authorization },
          { nowSeconds, windowSeconds },
        );
        if (known.some((reading) => reading.nonce === other.nonce)) continue;
        for (const otherBody of ["", body])
          assert.equal(passes(other, signature, otherBody), false, JSON.stringify(other));
      }
      // key | method: the key has a fixed length
      const header = (key: string) => parseAuthorization(`hmac ${key}:${signature}:${nonce}:${timestamp}`);
      assert.equal(header(`${keyId}${method.slice(0, shift)}`), undefined);
      assert.equal(header(keyId.slice(0, -shift)), undefined);
    }),
  );
});

test("lists every other reading of a nonce or a target that contains the time", () => {
  const readings = (target: string, nonce: string, timestamp = 1700000000) =>
    otherReadings(
      { method: "GET", target, body: Buffer.alloc(0), authorization: { keyId, signature: "", nonce, timestamp } },
      { nowSeconds, windowSeconds },
    );
  assert.deepEqual(readings("/domains/a.be", "5f0c3a1b2d4e6"), []);
  assert.deepEqual(readings("/domains/a.be", "1700000001"), [], "nothing would be left for the nonce");
  assert.deepEqual(readings("/domains/a.be", "1700000001123.word"), [{ nonce: "123.word", timestamp: 1700000001 }]);
  const nonce = ".be1700000000ab";
  assert.deepEqual(readings("/domains/x1700000009.be", "ab"), [{ nonce, timestamp: 1700000009 }]);
  assert.deepEqual(
    readings("/domains/x1700000009.BE", "ab").map((reading) => reading.nonce),
    [".BE1700000000ab", nonce],
  );
  assert.deepEqual(readings("/domains/x1600000009.be", "ab"), []);
});

test("lists every cut of a signed string that would be accepted", () => {
  const arbitraryTime = fc.oneof(word("0179", { minLength: 0, maxLength: 12 }), timely.map(String));
  fc.assert(
    fc.property(
      fc.tuple(arbitraryTime, fc.constantFrom("", "-a", ".be"), timely, arbitraryTime, fc.constantFrom("z", ".word")),
      ([name, ending, timestamp, start, rest]) => {
        const target = `/domains/${name}${ending}`;
        const nonce = `${start}${rest}`;
        const authorization = sign({ encoded: encodeURIComponent(target), nonce, timestamp });
        const text = `${target}${timestamp}${nonce}`;
        const request = { method: "GET", target, body: Buffer.alloc(0), authorization };
        const known = otherReadings(request, { nowSeconds, windowSeconds });
        for (let at = 1; at < text.length - 10; at += 1) {
          const other = { target: text.slice(0, at), timestamp: text.slice(at, at + 10), nonce: text.slice(at + 10) };
          const accepted = passes({ method: "get", ...other }, authorization.signature, "");
          const isNamed = other.nonce === nonce || known.some((reading) => reading.nonce === other.nonce);
          assert.equal(accepted, isNamed, `${text} cut at ${at}`);
        }
      },
    ),
    { numRuns: 200 },
  );
});
