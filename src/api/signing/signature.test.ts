import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import {
  parseAuthorization,
  parseTarget,
  type SignedRequest,
  stringsToSign,
  verifySignature,
  verifyUnknownKey,
} from "#api/signing/signature.ts";
import { keyId, secret, sign, type Vector, vectors } from "#api/signing/test-signature-client.ts";

function requestOf(vector: Vector): SignedRequest {
  const authorization = parseAuthorization(vector.authorization);
  assert.ok(authorization, `${vector.name} has a header of the right form`);
  return { method: vector.method, target: vector.target, body: Buffer.from(vector.body), authorization };
}

function accepts(target: string, encoded: string, method = "GET", methodWord = method.toLowerCase()): boolean {
  const authorization = sign({ method: methodWord, encoded });
  return verifySignature({ method, target, body: Buffer.alloc(0), authorization, secret });
}

test("accepts every published vector", () => {
  for (const vector of vectors.valid) {
    assert.ok(verifySignature({ ...requestOf(vector), secret }), `${vector.name} ${vector.target}`);
  }
});

test("refuses every vector after any one change", () => {
  for (const vector of vectors.valid) {
    const request = requestOf(vector);
    const { authorization } = request;
    const signatures = Array.from({ length: authorization.signature.length }, (_, index) => {
      const characters = [...authorization.signature];
      characters[index] = characters[index] === "A" ? "B" : "A";
      return { ...request, authorization: { ...authorization, signature: characters.join("") } };
    });
    const changed: SignedRequest[] = [
      ...signatures,
      { ...request, method: request.method === "GET" ? "POST" : "GET" },
      { ...request, target: `${request.target}x` },
      { ...request, target: request.target.slice(0, -1) },
      { ...request, target: request.target.replace(/^\/v[12]/, "") },
      { ...request, body: Buffer.concat([request.body, Buffer.from(" ")]) },
      { ...request, authorization: { ...authorization, keyId: `f${keyId.slice(1)}` } },
      { ...request, authorization: { ...authorization, nonce: `${authorization.nonce}0` } },
      { ...request, authorization: { ...authorization, timestamp: authorization.timestamp + 1 } },
    ];
    for (const mutation of changed) {
      assert.equal(verifySignature({ ...mutation, secret }), false, `${vector.name} ${JSON.stringify(mutation)}`);
    }
    assert.equal(verifySignature({ ...request, secret: secret.toLowerCase() }), false);
  }
});

test("refuses another spelling of the right signature", () => {
  const authorization = sign({ encoded: "%2Fdomains" });
  const request = { method: "GET", target: "/domains", body: Buffer.alloc(0), secret };
  assert.ok(verifySignature({ ...request, authorization }));
  const last = authorization.signature.at(-2) ?? "";
  const sameBytes = String.fromCharCode(last.charCodeAt(0) + 1);
  const spellings = [
    authorization.signature.slice(0, -1),
    `${authorization.signature}=`,
    `${authorization.signature.slice(0, -2)}${sameBytes}=`,
    Buffer.from(authorization.signature, "base64").toString("hex"),
    "x",
  ];
  for (const signature of spellings) {
    assert.equal(verifySignature({ ...request, authorization: { ...authorization, signature } }), false, signature);
  }
});

test("refuses a key that is not known, even when it was signed with the stand-in secret", () => {
  const target = "/domains";
  const text = `${keyId}get%2Fdomains17000000005f0c`;
  const signature = createHmac("sha256", "0".repeat(64)).update(text).digest("base64");
  const authorization = { keyId, signature, nonce: "5f0c", timestamp: 1700000000 };
  assert.equal(verifyUnknownKey({ method: "GET", target, body: Buffer.alloc(0), authorization }), false);
});

test("reads a header only of the exact form", () => {
  const good = `hmac ${keyId}:c2ln:5f0c.a_B-9:1700000000`;
  const expected = { keyId, signature: "c2ln", nonce: "5f0c.a_B-9", timestamp: 1700000000 };
  assert.deepEqual(parseAuthorization(good), expected);
  assert.deepEqual(parseAuthorization(good.replace("hmac", "HMAC")), expected);
  const nonceOf = (nonce: string) => `hmac ${keyId}:c2ln:${nonce}:1700000000`;
  assert.ok(parseAuthorization(nonceOf("n".repeat(128))));
  const malformed = [
    undefined,
    "",
    "hmac",
    good.replace("hmac ", ""),
    good.replace("hmac ", "Bearer "),
    good.replace("hmac ", "hmac  "),
    `${good}:`,
    `${good} `,
    `${good}\n`,
    good.replace(":1700000000", ""),
    good.replace(keyId, keyId.toUpperCase()),
    good.replace(keyId, keyId.slice(1)),
    good.replace("c2ln", ""),
    good.replace("c2ln", "c2 ln"),
    nonceOf(""),
    nonceOf("n".repeat(129)),
    nonceOf("a=b"),
    nonceOf("a/b"),
    nonceOf("é"),
    good.replace("1700000000", "170000000"),
    good.replace("1700000000", "17000000000"),
    good.replace("1700000000", "0700000000"),
    good.replace("1700000000", "+700000000"),
    good.replace("1700000000", "1700000e00"),
  ];
  for (const header of malformed) assert.equal(parseAuthorization(header), undefined, String(header));
});

test("accepts the four URL-encodings in use, of the target as sent and decoded, in its own case and in lower case", () => {
  const target = "/v1/x?a=~!*'()+b%20C%C3%BC";
  const [asIs, lower] = ["%2520C%25C3%25BC", "%2520c%25c3%25bc"];
  const start = "%2Fv1%2Fx%3Fa%3D";
  const accepted = [
    `${start}%7E%21%2A%27%28%29%2Bb${asIs}`,
    `${start}~%21%2A%27%28%29%2Bb${asIs}`,
    `${start}~!*'()%2Bb${asIs}`,
    `${start}%7E!*%27()%2Bb${asIs}`,
    `${start}%7E%21%2A%27%28%29%2Bb${lower}`,
    `${start}~!*'()%2Bb${lower}`,
    `${start}%7E%21%2A%27%28%29+b+C%C3%BC`,
    `${start}~%21%2A%27%28%29%20b%20C%C3%BC`,
    `${start}~!*'()%20b%20C%C3%BC`,
    `${start}%7E!*%27()+b+c%C3%BC`,
  ];
  for (const encoded of accepted) assert.ok(accepts(target, encoded), encoded);
  for (const encoded of [target, encodeURI(target), `${start}~!*'()+b${asIs}`, accepted[0]?.toLowerCase() ?? ""]) {
    assert.equal(accepts(target, encoded), false, encoded);
  }
});

test("accepts del for DELETE and for nothing else", () => {
  assert.ok(accepts("/a", "%2Fa", "DELETE", "delete"));
  assert.ok(accepts("/a", "%2Fa", "DELETE", "del"));
  assert.equal(accepts("/a", "%2Fa", "GET", "del"), false);
  assert.equal(accepts("/a", "%2Fa", "DELETE", "DELETE"), false);
});

test("refuses a decoded form when an escape hides a character with a meaning", () => {
  for (const character of ["/", "?", "&", "=", "#", "%", "+", "\\", "\0", "\n", "\x7f"]) {
    const escaped = `%${character.charCodeAt(0).toString(16).padStart(2, "0")}`;
    const target = `/v1/domains/a${escaped}b%2Cc`;
    assert.ok(accepts(target, encodeURIComponent(target)));
    assert.equal(accepts(target, encodeURIComponent(`/v1/domains/a${character}b,c`)), false, escaped);
  }
});

test("makes strings on demand: one for a plain lower-case path, never the same one twice", () => {
  const stringsFor = (target: string, method = "GET") => [
    ...stringsToSign({ method, target, body: Buffer.alloc(0), authorization: sign({ encoded: "x" }) }),
  ];
  assert.equal(stringsFor("/v1/domains/hello.example?take=5&skip=0").length, 1);
  assert.equal(stringsFor("/v1/domains/Hello.example").length, 2);
  assert.equal(stringsFor("/v1/domains/a%2cb.example").length, 2);
  assert.equal(stringsFor("/v1/domains/a~b").length, 2);
  assert.equal(stringsFor("/A%2c !'()*~", "DELETE").length, 32);
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(..." %+~!*'()A2cCaz") }), (text) => {
      const all = stringsFor(`/${text}`);
      assert.equal(new Set(all).size, all.length);
    }),
  );
});

test("decodes bytes, and leaves a malformed escape as it is", () => {
  assert.ok(accepts("/caf%E9", "%2Fcaf%E9"));
  assert.ok(accepts("/caf%E9", "%2Fcaf%25E9"));
  assert.ok(accepts("/a%zz%4%2C%", "%2Fa%25zz%254%2C%25"));
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(..."%+/?aZ2Cf\xe9~") }), (text) => {
      const target = `/${text}`;
      const encoded = `%2F${encodeBytes(Buffer.from(text, "latin1"))}`;
      assert.ok(accepts(target, encoded));
      assert.equal(accepts(target, `${encoded}x`), false);
    }),
  );
});

function encodeBytes(bytes: Buffer): string {
  const encodeByte = (byte: number) => `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  return [...bytes]
    .map((byte) => (/\w/.test(String.fromCharCode(byte)) ? String.fromCharCode(byte) : encodeByte(byte)))
    .join("");
}

test("signs the path and query of an absolute-form target", () => {
  assert.equal(parseTarget("/v1/domains?take=1"), "/v1/domains?take=1");
  assert.equal(parseTarget("http://localhost:8080/v1/domains?take=1"), "/v1/domains?take=1");
  assert.equal(parseTarget("HTTPS://host"), "/");
  assert.equal(parseTarget("http://host?a=b"), "/?a=b");
  assert.equal(parseTarget("//host/a"), "//host/a");
  for (const target of ["*", "host:443", "", "domains"]) assert.equal(parseTarget(target), undefined, target);
  assert.ok(accepts("http://localhost/v1/domains", "%2Fv1%2Fdomains"));
  assert.equal(accepts("*", "%2A"), false);
});
