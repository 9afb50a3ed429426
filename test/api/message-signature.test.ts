import assert from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";
import { after, test } from "node:test";
import { assertError } from "../harness/assert-reply.ts";
import { startTestGateway, type TestReseller } from "../harness/gateway.ts";
import { newNonce } from "../harness/signed-request.ts";

const gateway = await startTestGateway({ after }, { worker: false });
const reseller = await gateway.addReseller();

interface Signed {
  method: string;
  path: string;
  query?: string;
  body?: string;
  nonce?: string;
  created?: number;
  expires?: number;
}

/** Signs according to RFC 9421, independently of the service's code. */
function sign({ key }: TestReseller, { method, path, query = "?", body, nonce = newNonce(), ...times }: Signed) {
  const created = times.created ?? Math.floor(gateway.context.clock.now().getTime() / 1000);
  const digest = body === undefined ? undefined : `sha-256=:${createHash("sha256").update(body).digest("base64")}:`;
  const components = [
    ["@method", method],
    ["@path", path],
    ["@query", query],
    ...(digest === undefined ? [] : [["content-digest", digest]]),
  ] as [string, string][];
  const covered = components.map(([name]) => `"${name}"`).join(" ");
  const expiry = times.expires === undefined ? "" : `;expires=${times.expires}`;
  const params = `(${covered});created=${created}${expiry};keyid="${key.id}";nonce="${nonce}";alg="hmac-sha256"`;
  const base = [...components.map(([name, value]) => `"${name}": ${value}`), `"@signature-params": ${params}`].join(
    "\n",
  );
  const signature = createHmac("sha256", key.secret.reveal()).update(base).digest("base64");
  return {
    "signature-input": `sig1=${params}`,
    signature: `sig1=:${signature}:`,
    ...(digest !== undefined && { "content-digest": digest }),
  };
}

const send = (headers: Record<string, string>, method: string, target: string, body?: string) =>
  gateway.send(reseller, method, target, { authorization: null, headers, ...(body !== undefined && { body }) });

test("a request signed by RFC 9421 is served, once", async () => {
  const headers = sign(reseller, { method: "GET", path: "/domains", query: "?take=5" });
  const reply = await send(headers, "GET", "/domains?take=5");
  assert.equal(reply.status, 200, reply.text);
  assertError(await send(headers, "GET", "/domains?take=5"), "authorization_nonce_reused");
});

test("the signature covers method, path, query and body", async () => {
  const signed = { method: "GET", path: "/domains", query: "?take=5" };
  assertError(await send(sign(reseller, signed), "GET", "/domains?take=6"), "authorization_hmac_invalid");
  assertError(await send(sign(reseller, signed), "GET", "/hostingaccounts?take=5"), "authorization_hmac_invalid");
  const body = JSON.stringify({ domain_name: "a.b.example" });
  const post = { method: "POST", path: "/domains/registrations", body };
  assertError(await send(sign(reseller, post), "POST", "/domains/registrations", body), "bad_request");
  const other = body.replace("a.b", "c.d");
  assertError(await send(sign(reseller, post), "POST", "/domains/registrations", other), "authorization_hmac_invalid");
});

test("both ways of signing share a key's nonces", async () => {
  const nonce = newNonce();
  assert.equal((await gateway.send(reseller, "GET", "/domains", { nonce })).status, 200);
  const headers = sign(reseller, { method: "GET", path: "/domains", nonce });
  assertError(await send(headers, "GET", "/domains"), "authorization_nonce_reused");
});

test("an old or expired signature is refused with the server's time, a malformed one as malformed", async () => {
  const now = Math.floor(gateway.context.clock.now().getTime() / 1000);
  const request = { method: "GET", path: "/domains" };
  for (const times of [{ created: now - 400 }, { expires: now - 5 }]) {
    const reply = await send(sign(reseller, { ...request, ...times }), "GET", "/domains");
    assertError(reply, "authorization_timestamp_invalid");
    assert.match(reply.text, /server's time/);
  }
  const { signature } = sign(reseller, request);
  const malformed = { "signature-input": "sig1=()", signature: signature ?? "" };
  assertError(await send(malformed, "GET", "/domains"), "auth_authorization_header_invalid_format");
});
