import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import fc from "fast-check";
import {
  type ReceivedMessage,
  signatureBase,
  verifyMessageOfUnknownKey,
  verifyMessageSignature,
} from "#api/signing/message-signature.ts";
import {
  accepts,
  type Draft,
  digestOf,
  parse,
  plain,
  type Sent,
  signed,
  withBody,
} from "#api/signing/test-message-signature-client.ts";
import { keyId, secret, sign } from "#api/signing/test-signature-client.ts";

const rfcBody = '{"hello": "world"}';
const rfcDigest = "sha-512=:WZDPaVn/7XgHaAy8pmojAkGWoRx2UFChF41A2svX+TaPm+AbwAgBWnrIiYllu7BNNyealdVLvRwEmTHWXvJwew==:";
/** The test-request of RFC 9421 appendix B.2. */
const rfcRequest: ReceivedMessage = {
  method: "POST",
  target: "/foo?param=Value&Pet=dog",
  authority: "example.com",
  headers: {
    date: "Tue, 20 Apr 2021 02:07:55 GMT",
    "content-type": "application/json",
    "content-length": "18",
  },
};

test("makes the signature of RFC 9421 appendix B.2.5", () => {
  const key = "uzvJfB4u3N0Jy4T7NZ75MDVcr8zSTInedJtkgcu46YW4XByzNJjxBdtjUkdJPBtbmHhIDi6pcl8jsasjlTMtDQ==";
  const components = ["date", "@authority", "content-type"];
  const params = '("date" "@authority" "content-type");created=1618884473;keyid="test-shared-secret"';
  const base = signatureBase(rfcRequest, { components, params, contentDigest: undefined }) ?? "";
  const signature = createHmac("sha256", Buffer.from(key, "base64")).update(base).digest("base64");
  assert.equal(signature, "pxcQw6G3AjtMBQjwo8XzkZf/bws5LelbaMk5rGIGtE8=");
});

test("makes the text of RFC 9421 appendix B.2.3, which covers everything", () => {
  const components = ["date", "@method", "@path", "@query", "@authority", "content-type", "content-digest"];
  components.push("content-length");
  const list = components.map((name) => `"${name}"`).join(" ");
  const params = `(${list});created=1618884473;keyid="test-key-rsa-pss"`;
  const contentDigest = { text: rfcDigest, digests: [] };
  assert.equal(
    signatureBase(rfcRequest, { components, params, contentDigest }),
    `"date": Tue, 20 Apr 2021 02:07:55 GMT
"@method": POST
"@path": /foo
"@query": ?param=Value&Pet=dog
"@authority": example.com
"content-type": application/json
"content-digest": ${rfcDigest}
"content-length": 18
"@signature-params": ${params}`,
  );
});

test("accepts a signed request, with and without a body", () => {
  assert.ok(accepts(signed(plain)));
  assert.ok(accepts(signed(withBody)));
  assert.ok(accepts(signed({ ...plain, method: "DELETE", target: "/v1/x" })));
  const emptyBody = { ...plain, headers: { "content-digest": digestOf("") }, covered: ["content-digest"] };
  assert.ok(accepts(signed(emptyBody)));
});

test("refuses a request after any one change", () => {
  const sent = signed(withBody);
  const bent = (name: string, value: string | undefined) => ({ ...sent, headers: { ...sent.headers, [name]: value } });
  const input = (from: string, to: string) =>
    bent("signature-input", sent.headers["signature-input"]?.replace(from, to));
  const other = Buffer.from(sent.body.toString().replace("hello", "jello"));
  const changed: Record<string, Sent> = {
    method: { ...sent, method: "PUT" },
    "case of the method": { ...sent, method: "post" },
    path: { ...sent, target: "/v1/domains/registration" },
    prefix: { ...sent, target: "/domains/registrations" },
    "escape in the path": { ...sent, target: "/v1/domains/%72egistrations" },
    query: { ...sent, target: `${sent.target}?a` },
    "query and path": { ...sent, target: "/v1/domains?/registrations" },
    body: { ...sent, body: other },
    "no body": { ...sent, body: Buffer.alloc(0) },
    "body and digest": { ...bent("content-digest", digestOf(other.toString())), body: other },
    "more digests": bent("content-digest", `${digestOf(withBody.body)}, ${digestOf(withBody.body, "sha-512")}`),
    authority: { ...sent, authority: "api.example.net" },
    "covered header": bent("idempotency-key", "order-18"),
    "missing covered header": bent("idempotency-key", undefined),
    nonce: input('nonce="5', 'nonce="6'),
    created: input("created=1700000001", "created=1700000002"),
    expires: input("created=1700000001", "created=1700000001;expires=1800000000"),
    key: input(keyId, `f${keyId.slice(1)}`),
    tag: input(";created", ';tag="a";created'),
    order: input('"@method" "@path"', '"@path" "@method"'),
    "fewer covered": input(' "idempotency-key"', ""),
    "more covered": input(' "idempotency-key"', ' "idempotency-key" "content-type"'),
  };
  assert.ok(accepts(sent));
  for (const [what, request] of Object.entries(changed)) assert.equal(accepts(request), false, what);
  assert.ok(accepts(bent("content-type", "text/plain")), "what is not covered may change");
});

test("accepts no signature with one bit changed, shortened or made longer", () => {
  const sent = signed(plain);
  const signature = parse(sent.headers);
  assert.ok(signature);
  const verify = (bytes: Buffer) =>
    verifyMessageSignature({ ...sent, secret, signature: { ...signature, signature: bytes } });
  assert.ok(verify(signature.signature));
  for (let bit = 0; bit < signature.signature.length * 8; bit++) {
    const bytes: Buffer = Buffer.from(signature.signature);
    bytes[bit >> 3]! ^= 1 << (bit & 7);
    assert.equal(verify(bytes), false, `bit ${bit}`);
  }
  for (const bytes of [signature.signature.subarray(1), Buffer.concat([signature.signature, Buffer.alloc(1)])]) {
    assert.equal(verify(bytes), false);
  }
});

test("takes the secret's characters as the key", () => {
  assert.ok(accepts(signed(plain, Buffer.from(secret, "utf8"))));
  for (const key of [Buffer.from(secret, "hex"), Buffer.from(secret, "base64"), secret.toLowerCase()]) {
    assert.equal(accepts(signed(plain, key)), false);
  }
});

test("refuses a key that is not known, even when it was signed with the stand-in secret", () => {
  const sent = signed(plain, "0".repeat(64));
  const signature = parse(sent.headers);
  assert.ok(signature);
  assert.equal(verifyMessageOfUnknownKey({ ...sent, signature }), false);
});

test("accepts nothing that the same secret signed in the other scheme", () => {
  const sent = signed(plain);
  const { signature } = sign({ encoded: "%2Fv1%2Fdomains", nonce: plain.nonce, timestamp: plain.created });
  assert.equal(accepts({ ...sent, headers: { ...sent.headers, signature: `sig1=:${signature}:` } }), false);
});

test("refuses a body whose digest is not covered", () => {
  assert.equal(accepts(signed({ ...withBody, covered: [] })), false);
  const sent = signed(plain);
  assert.equal(accepts({ ...sent, body: Buffer.from("{}") }), false);
  const late = { ...sent, headers: { ...sent.headers, "content-digest": digestOf("{}") }, body: Buffer.from("{}") };
  assert.equal(accepts(late), false);
});

test("compares a body with every digest of sha-256 and sha-512, and needs one of them", () => {
  const withDigest = (digest: string, body = rfcBody) =>
    accepts(signed({ ...withBody, body, headers: { "content-digest": digest }, covered: ["content-digest"] }));
  const [right, wrong] = [digestOf(rfcBody), digestOf("other")];
  const wrong512 = digestOf("other", "sha-512");
  assert.ok(withDigest(rfcDigest));
  assert.ok(withDigest(`${right}, ${rfcDigest}`));
  assert.ok(withDigest(`${rfcDigest} ,\t${right}`));
  assert.ok(withDigest(`md5=:AAAA:, ${right}`));
  const refused = [
    wrong,
    `${right}, ${wrong512}`,
    `${wrong}, ${rfcDigest}`,
    "md5=:AAAA:",
    "",
    `${right},`,
    `${right} x`,
  ];
  refused.push(
    `${right}, ${right}`,
    `${wrong}, ${right}`,
    right.toUpperCase(),
    right.replaceAll(":", '"'),
    `${right};a`,
  );
  refused.push(right.replace("=:", "=").slice(0, -2), right.replace("=:", ":"), `sha-256=:${right.slice(12)}`);
  for (const digest of refused) assert.equal(withDigest(digest), false, digest);
});

test("covers the authority in lower case and without a default port", () => {
  const covered = ["@authority"];
  for (const authority of ["API.example", "api.example:443", "api.example:80"]) {
    assert.ok(accepts({ ...signed({ ...plain, covered }), authority }), authority);
  }
  assert.ok(accepts(signed({ ...plain, covered, authority: "localhost:8080" })));
  assert.equal(accepts({ ...signed({ ...plain, covered }), authority: "api.example:8443" }), false);
});

test("covers path and query as they were sent, and an absolute-form target as its path and query", () => {
  for (const target of ["/", "/a%2fb%7E%zz", "//host/a", "/a?b?c", "/a?=%20+&&"]) {
    assert.ok(accepts(signed({ ...plain, target })), target);
  }
  const sent = signed(plain);
  assert.ok(accepts({ ...sent, target: `http://api.example${sent.target}` }));
  assert.equal(accepts({ ...sent, target: "*" }), false);
  assert.ok(
    accepts({ ...signed({ ...plain, target: "/a" }), target: "/a?" }),
    "no query and an empty one are the same",
  );
});

test("covers no header that is not plain text", () => {
  const draft = { ...plain, covered: ["x-note"] };
  assert.ok(accepts(signed({ ...draft, headers: { "x-note": "a,  b\tc" } })));
  assert.ok(accepts(signed({ ...draft, headers: { "x-note": "" } })));
  for (const value of ["é", 'a\n"@method": POST', "\0"]) {
    assert.equal(accepts(signed({ ...draft, headers: { "x-note": value } })), false, value);
  }
  const sent = signed({ ...plain, covered: ["set-cookie"], headers: { "set-cookie": "a,b" } });
  const signature = parse(sent.headers);
  assert.ok(signature && accepts(sent));
  const listed = { ...sent, signature, secret, headers: { ...sent.headers, "set-cookie": ["a", "b"] } };
  assert.equal(verifyMessageSignature(listed), false, "a field that can't be joined");
  const inherited = { constructor: String(Object) };
  const { constructor: _sent, ...others } = signed({ ...plain, covered: ["constructor"], headers: inherited }).headers;
  assert.equal(accepts({ ...sent, headers: others }), false, "a property of every object");
});

const pathPart = fc.string({ unit: fc.constantFrom(..."abZ09-._~%/+"), maxLength: 12 });
const draft: fc.Arbitrary<Draft> = fc.record({
  method: fc.constantFrom("GET", "POST", "DELETE"),
  target: fc
    .tuple(pathPart, fc.option(pathPart))
    .map(([path, query]) => `/${path}${query === null ? "" : `?${query}`}`),
  body: fc.string({ minLength: 1, maxLength: 20 }),
  authority: fc.constantFrom("api.example", "localhost:8080"),
  headers: fc.string({ unit: fc.constantFrom(...'ab ,;="'), maxLength: 8 }).map((value) => ({ "x-note": value })),
  covered: fc.constant(["x-note", "content-digest", "@authority"]),
  nonce: fc.string({ unit: fc.constantFrom(..."aZ09._-"), minLength: 1, maxLength: 12 }),
  created: fc.integer({ min: 1_000_000_000, max: 9_999_999_999 }),
  more: fc.constant(""),
});

test("accepts what was signed and no other request with its signature", () => {
  const said = ({ method, target, body, authority, headers, nonce, created }: Draft) =>
    JSON.stringify([method, target.replace(/\?$/, ""), body, authority, headers, nonce, created]);
  fc.assert(
    fc.property(draft, draft, fc.subarray(Object.keys(plain) as (keyof Draft)[]), (own, other, fields) => {
      const sent = signed(own);
      assert.ok(accepts(sent));
      const changed = { ...own, ...Object.fromEntries(fields.map((field) => [field, other[field]])) };
      const forged = signed(changed, "not the secret");
      const replayed = { ...forged, headers: { ...forged.headers, signature: sent.headers.signature } };
      assert.equal(accepts(replayed), said(changed) === said(own));
    }),
  );
});
