import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { test } from "node:test";
import fc from "fast-check";
import { type SentRequest, signingHeadersOf } from "#api/signing/credentials.ts";
import { joinLines, parseDescribedRequest } from "#api/signing/described-request.ts";
import { explainSignature } from "#api/signing/explain.ts";
import { parseMessageSignature, readMessageSignature } from "#api/signing/message-signature.ts";
import { findAuthorizationMistake, parseAuthorization } from "#api/signing/signature.ts";
import { plain, signed, withBody } from "#api/signing/test-message-signature-client.ts";
import { keyId, secret, vectors } from "#api/signing/test-signature-client.ts";

const serverTime = new Date(1_700_000_000_000);
const explain = (request: SentRequest) =>
  explainSignature(request, (times) => ({
    serverTime,
    windowSeconds: 300,
    skewSeconds: times && times.timestamp - 1_700_000_000,
    problem: undefined,
  }));
const described = (request: object) => explain(parseDescribedRequest(Buffer.from(JSON.stringify(request))));
const hmac = (text: string | Buffer) => createHmac("sha256", secret).update(text).digest("base64");

interface Shown {
  strings_to_sign: { text: string; bytes: number }[];
}
interface ShownMessage {
  signature_base: { text: string; bytes: number; base64: string };
  content_digests: { algorithm: string; sent: string; of_body: string; equal: boolean }[];
}

test("of every published vector a text is shown that gives its signature", () => {
  for (const { name, method, target, body, authorization } of vectors.valid) {
    const shown = described({ method, target, headers: { authorization }, body });
    const texts = (shown.authorization as Shown).strings_to_sign;
    const [, signature] = authorization.split(":");
    assert.ok(
      texts.some(({ text }) => hmac(text) === signature),
      `${name} ${target}`,
    );
    for (const { text, bytes } of texts) assert.equal(Buffer.byteLength(text), bytes);
    assert.deepEqual(shown.problems, [], name);
    assert.ok(!JSON.stringify(shown).includes(signature!), "the signature is not repeated");
  }
});

test("of a message signature the base is shown that gives its signature, as text and as bytes", () => {
  for (const draft of [plain, withBody]) {
    const { authority, headers, body, ...request } = signed(draft);
    const shown = described({ ...request, headers: { ...headers, host: authority }, body: body.toString() });
    const { signature_base: base, content_digests: digests } = shown.message_signature as unknown as ShownMessage;
    const wanted = headers.signature?.slice("sig1=:".length, -1);
    assert.equal(hmac(base.text), wanted);
    assert.equal(hmac(Buffer.from(base.base64, "base64")), wanted);
    assert.deepEqual(
      digests.map(({ equal }) => equal),
      draft.body === "" ? [] : [true],
    );
    assert.deepEqual(shown.problems, []);
    assert.equal(shown.form, "message-signature");
  }
});

test("names the header that is wrong, and what to do about it", () => {
  const { headers: right } = signed(withBody);
  const good = `hmac ${keyId}:${hmac("x")}:5f0c:1700000000`;
  const cases: [headers: Record<string, string | undefined>, header: string, says: RegExp][] = [
    [{}, "authorization", /missing.*RFC 9421/],
    [{ authorization: "" }, "authorization", /begin with the word "hmac"/],
    [{ authorization: "Bearer x" }, "authorization", /begin with the word "hmac"/],
    [{ authorization: `hmac ${keyId}:c2ln:5f0c` }, "authorization", /four parts.*it has 3/],
    [{ authorization: good.replace(keyId, keyId.toUpperCase()) }, "authorization", /part 1, the api key/],
    [{ authorization: good.replace(":5f0c:", ":5f 0c:") }, "authorization", /part 3, the nonce/],
    [{ authorization: `${good}000` }, "authorization", /part 4, the timestamp.*Milliseconds.*it has 13/],
    [{ authorization: good.replace(/:[^:]*=:/, ":ab12:") }, "authorization", /has 4 characters.*44/],
    [{ authorization: good, signature: "sig1=:AA==:" }, "signature", /ignored/],
    [{ "signature-input": right["signature-input"] }, "signature", /missing/],
    [{ signature: right.signature }, "signature-input", /missing/],
    [{ ...right, "signature-input": "sig1" }, "signature-input", /one signature/],
    [{ ...right, signature: "sig1=AA" }, "signature", /base64/],
    [{ ...right, signature: "sig1=:AAAA:" }, "signature", /has 3 bytes/],
    [{ ...right, signature: right.signature?.replace("sig1", "sig2") }, "signature", /label/],
    [replaced(right, '"@query" ', ""), "signature-input", /@query is missing/],
    [replaced(right, '"@query"', '"@query" "@scheme"'), "signature-input", /"@scheme".*not accept/],
    [replaced(right, '"@query"', '"@query" "@query"'), "signature-input", /twice/],
    [replaced(right, ";created=", ";created=1700000001;created="), "signature-input", /created twice/],
    [replaced(right, /created=\d+/, 'created="now"'), "signature-input", /created must be/],
    [replaced(right, /;nonce="\w+"/, ""), "signature-input", /nonce is missing/],
    [replaced(right, ";created=", ";context=1;created="), "signature-input", /not know the parameter context/],
    [{ ...right, "content-digest": "md5=:AAAA:" }, "content-digest", /sha-256/],
    [{ ...right, "content-digest": "sha-256=:AAAA:" }, "content-digest", /not that of the body/],
    [replaced(right, ' "content-digest"', ""), "signature-input", /must cover "content-digest"/],
    [{ ...right, "idempotency-key": undefined }, "idempotency-key", /does not have it/],
    [{ ...right, "idempotency-key": "é" }, "idempotency-key", /ASCII/],
  ];
  for (const [headers, header, says] of cases) {
    const { method, target, body, authority } = signed(withBody);
    const { problems } = explain({ method, target, body, headers: { host: authority, ...headers } });
    const found = problems.find((problem) => problem.header === header);
    assert.match(found?.problem ?? "", says, JSON.stringify([headers, problems]));
  }
});

const replaced = (headers: Record<string, string | undefined>, from: string | RegExp, to: string) => ({
  ...headers,
  "signature-input": headers["signature-input"]?.replace(from, to),
});

test("finds a mistake in exactly those headers that the check refuses", () => {
  const part = fc.oneof(fc.string(), fc.constantFrom(keyId, hmac("x"), "5f0c", "1700000000", "a:b", ""));
  const header = fc.oneof(
    fc.string(),
    fc.array(part, { maxLength: 5 }).map((parts) => `hmac ${parts.join(":")}`),
  );
  fc.assert(
    fc.property(header, (text) => {
      assert.equal(findAuthorizationMistake(text) === undefined, parseAuthorization(text) !== undefined);
    }),
  );
  fc.assert(
    fc.property(fc.string(), fc.nat(200), (text, at) => {
      const { headers } = signed(withBody);
      const input = headers["signature-input"] ?? "";
      const changed = { ...headers, "signature-input": input.slice(0, at) + text + input.slice(at) };
      const read = readMessageSignature(signingHeadersOf(changed));
      assert.equal("problem" in read, parseMessageSignature(signingHeadersOf(changed)) === undefined);
    }),
  );
});

test("shows what differs in the body, down to a line break at its end", () => {
  const [bare, broken] = ["{}", "{}\n"].map((body) =>
    described({ method: "POST", target: "/domains", headers: {}, body }),
  );
  assert.deepEqual([bare?.body.bytes, broken?.body.bytes], [2, 3]);
  assert.notEqual(bare?.body.md5, broken?.body.md5);
  const bytes = {
    method: "POST",
    target: "/domains",
    headers: {},
    body_base64: Buffer.from("{}\n").toString("base64"),
  };
  assert.deepEqual(described(bytes).body, broken?.body);
  assert.equal(described({ method: "GET", target: "/", headers: {} }).body.md5, "", "no body adds nothing to the text");
});

test("joins the lines of described headers as Node's server does", async () => {
  const lines: [string, string][] = [
    ["Host", "api.example"],
    ["Authorization", "first"],
    ["authorization", "second"],
    ["X-Twice", "  one\t"],
    ["x-twice", "two"],
    ["Signature", "a=:AA==:"],
    ["Signature", "b=:AA==:"],
    ["Cookie", "a=1"],
    ["cookie", "b=2"],
    ["Content-Type", "text/plain"],
    ["Content-Type", "application/json"],
    ["User-Agent", "one"],
    ["User-Agent", "two"],
    ["X-Latin", "caf\u00e9"],
  ];
  const server = createServer((_request, response) => response.end()).listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  try {
    socket.write(`GET / HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`, "latin1");
    const [request] = (await once(server, "request")) as [IncomingMessage];
    assert.deepEqual(joinLines(lines), { ...request.headers });
  } finally {
    socket.destroy();
    server.close();
  }
});
