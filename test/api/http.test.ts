import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { after, test } from "node:test";
import { assertError, assertFullForm } from "../harness/assert-reply.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { sendRaw } from "../harness/raw-http.ts";
import { authorize, type SignedRequestOptions } from "../harness/signed-request.ts";

// Requests that the parser and the sockets refuse, written by hand: no HTTP client would send them.

const gateway = await startTestGateway({ after }, { worker: false, server: { requestTimeoutMs: 1_000 } });
const reseller = await gateway.addReseller();

const send = (method: string, target: string, options?: SignedRequestOptions) =>
  gateway.send(reseller, method, target, options);
const authorization = (method: string, target: string, body?: string) =>
  authorize({ key: reseller.key, clock: gateway.context.clock, method, target, body });

test("every answer has the full form: request id, four rate-limit headers, no-store, JSON", async () => {
  for (const target of ["/domains", "/v1/domains", "/hostingaccounts", "/servicepacks"]) {
    const reply = await send("GET", target);
    assert.equal(reply.status, 200);
    assertFullForm(reply);
  }
  const [first, second] = await Promise.all([send("GET", "/domains"), send("GET", "/domains")]);
  assert.notEqual(first.headers["x-request-id"], second.headers["x-request-id"]);
});

test("an unknown path is 404 under every prefix, also with %2F for a slash", async () => {
  for (const target of [
    "/",
    "/v1",
    "/v1/",
    "/v3/domains",
    "/v1/v1/domains",
    "/nothing",
    "//domains",
    "/./domains",
    "/domains/a.example/b",
    "/hostingaccounts/a/b",
    "/domains%2Fa.example",
    "/v1%2Fdomains",
    "/servicepacks/",
  ]) {
    assertError(await send("GET", target), "resource_not_found");
  }
});

test("a request in another spelling than the signed one means what was signed", async () => {
  for (const target of ["/domains?TAKE=1", "/domains?%74ake=1", "/Domains?Take=1", "/%64omains?take=%31"]) {
    const reply = await gateway.send(reseller, "GET", target, { signedTarget: "/domains?take=1" });
    assert.equal(reply.status, 200, reply.text);
    assert.equal(reply.headers["x-paging-take"], "1", target);
  }
  // Decoded once it is "take=%35", which another request may have signed: that one asks for five.
  const other = await gateway.send(reseller, "GET", "/domains?take=%%335", { signedTarget: "/domains?take=%35" });
  assertError(other, "authorization_hmac_invalid");
});

test("%2F inside a segment is part of the name, never a separator", async () => {
  assertError(await send("GET", "/domains/registrations%2FREG-00000000-000"), "domain_not_valid");
  assertError(await send("GET", "/hostingaccounts/a%2Fb.example"), "hostingaccount_invalid_identifier");
});

test("an unsupported method is 405, and allow lists the supported ones", async () => {
  const cases: [string, string, string][] = [
    ["DELETE", "/domains", "GET"],
    ["PUT", "/v1/domains/a.example", "GET, DELETE"],
    ["GET", "/domains/registrations", "POST"],
    ["POST", "/domains/registrations/REG-00000000-000", "GET"],
    ["PATCH", "/hostingaccounts", "GET, POST"],
    ["POST", "/hostingaccounts/a.example", "GET, DELETE"],
    ["OPTIONS", "/servicepacks", "GET"],
    ["TRACE", "/servicepacks", "GET"],
  ];
  for (const [method, target, allow] of cases) {
    const reply = await send(method, target);
    assertError(reply, "method_not_allowed");
    assert.equal(reply.headers.allow, allow, `${method} ${target}`);
  }
});

test("HEAD is answered with headers only", async () => {
  const reply = await send("HEAD", "/domains");
  assert.equal(reply.status, 405);
  assert.equal(reply.headers.allow, "GET");
  assert.equal(reply.text, "");
  assert.ok(reply.headers["x-request-id"] && reply.headers["x-ratelimit-reset"]);
});

test("a DELETE may be signed as del", async () => {
  const reply = await send("DELETE", "/domains", { signedMethod: "del" });
  assertError(reply, "method_not_allowed");
});

test("an absolute-form target is the same request, and its signature covers the path only", async () => {
  const target = "/v1/domains?take=3";
  for (const origin of [gateway.url, "http://api.reseller.example", "HTTPS://x:1"]) {
    const reply = await send("GET", `${origin}${target}`, { signedTarget: target });
    assert.equal(reply.status, 200, reply.text);
    assert.equal(reply.headers["x-paging-take"], "3");
  }
});

test("the answer is JSON for any Accept header", async () => {
  for (const accept of ["application/json;q=0.5, application/xml;q=0.9", "text/html", "*/*;q=0", "nonsense"]) {
    const reply = await send("GET", "/domains", { headers: { accept } });
    assert.equal(reply.status, 200);
    assertFullForm(reply);
  }
});

test("a JSON content type without a body is fine on GET and DELETE", async () => {
  const headers = { "content-type": "application/json" };
  assert.equal((await send("GET", "/domains", { headers })).status, 200);
  assert.equal((await send("GET", "/domains", { headers: { ...headers, "content-length": "0" } })).status, 200);
  assertError(await send("DELETE", "/domains", { headers }), "method_not_allowed");
});

test("a body on a GET is signed and otherwise ignored", async () => {
  assert.equal((await send("GET", "/domains", { body: "[]" })).status, 200);
  assert.equal((await send("GET", "/domains", { body: "not JSON at all" })).status, 200);
  const unsigned = authorization("GET", "/domains");
  assertError(await send("GET", "/domains", { body: "[]", authorization: unsigned }), "authorization_hmac_invalid");
});

test("the content type of a body does not matter, even a malformed one", async () => {
  for (const type of [
    "text/plain",
    "application/x-www-form-urlencoded",
    "application/json; charset=utf-16",
    ";;",
    "",
  ]) {
    const reply = await send("POST", "/hostingaccounts", { body: "{}", headers: { "content-type": type } });
    assertError(reply, "bad_request");
  }
});

test("a chunked body is read like any other", async () => {
  const target = "/hostingaccounts";
  const head = `POST ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ntransfer-encoding: chunked`;
  const reply = await sendRaw(
    gateway.url,
    `${head}\r\nauthorization: ${authorization("POST", target, "{}")}\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n`,
  );
  assert.equal(assertError(reply, "bad_request").validation_errors?.length, 3);
});

test("malformed escapes never fail the request, but are not a name", async () => {
  for (const name of ["%", "%zz", "%f", "%ff.example", "a%.example", "%c3%28.example", "%00", "a%00.example"]) {
    assertError(await send("GET", `/domains/${name}`), "domain_not_valid");
    assertError(await send("GET", `/hostingaccounts/${name}`), "hostingaccount_invalid_identifier");
    assertError(await send("GET", `/domains/registrations/${name}`), "bad_request");
  }
  assert.equal((await send("GET", "/domains?x=%zz&y=%ff")).status, 200);
});

test("a body of 64 KiB is read, one byte more is 413", async () => {
  const body = (bytes: number) => `{"domain_name": "${"x".repeat(bytes - 19)}"}`;
  assertError(await send("POST", "/domains/registrations", { body: body(64 * 1024 + 0) }), "bad_request");
  assertError(await send("POST", "/domains/registrations", { body: body(64 * 1024 + 1) }), "request_too_large");
});

test("a chunked body is 413 as soon as it is too large", async () => {
  const chunk = `4000\r\n${"x".repeat(0x4000)}\r\n`;
  const head = "POST /hostingaccounts HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n";
  assertError(await sendRaw(gateway.url, head, chunk, chunk, chunk, chunk, chunk), "request_too_large");
});

test("a request line or headers over 16 KiB are 431", async () => {
  const long = "x".repeat(17 * 1024);
  assertError(await sendRaw(gateway.url, `GET /${long} HTTP/1.1\r\nhost: x\r\n\r\n`), "request_header_too_large");
  assertError(
    await sendRaw(gateway.url, `GET / HTTP/1.1\r\nhost: x\r\na: ${long}\r\n\r\n`),
    "request_header_too_large",
  );
});

test("a path and query over 8,192 bytes are 431 before anything is verified, in either form of the target", async () => {
  const longest = `/domains?x=${"x".repeat(8_192 - 11)}`;
  assert.equal((await send("GET", longest)).status, 200);
  const failuresBefore = await send("GET", `${longest}x`, { authorization: null });
  for (const target of [`${longest}x`, `http://localhost${longest}`]) {
    const reply = await send("GET", target, { authorization: "hmac" });
    assert.match(assertError(reply, "request_header_too_large").error_text, /8192 bytes/);
    assert.equal(reply.headers["x-ratelimit-usage"], failuresBefore.headers["x-ratelimit-usage"]);
  }
});

test("a request that does not arrive in time is 408", async () => {
  const [headers, body] = await Promise.all([
    sendRaw(gateway.url, "GET /domains HTTP/1.1\r\nhost: x\r\n"),
    sendRaw(gateway.url, "POST /domains HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{"),
  ]);
  assertError(headers, "request_timeout");
  assertError(body, "request_timeout");
});

test("a request that is not valid HTTP is 400 in the full form", async () => {
  for (const bytes of [
    "hello\r\n\r\n",
    "FOO / HTTP/1.1\r\nhost: x\r\n\r\n",
    "GET / HTTP/9.9\r\nhost: x\r\n\r\n",
    "GET /domains HTTP/1.1\r\n\r\n",
    "GET /domäne HTTP/1.1\r\nhost: x\r\n\r\n",
    "GET /a b HTTP/1.1\r\nhost: x\r\n\r\n",
    "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n",
    "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
    "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    "GET / HTTP/1.1\r\nhost: x\r\nbad header: y\r\n\r\n",
    "GET / HTTP/1.1\r\nhost: x\r\na: b\x00c\r\n\r\n",
    "CONNECT host:443 HTTP/1.1\r\nhost: x\r\n\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    Buffer.from([0x16, 0x03, 0x01, 0x00, 0xa5, 0x01, 0x00]),
  ]) {
    const reply = await sendRaw(gateway.url, bytes);
    assertError(reply, "bad_request");
  }
});

test("a CONNECT whose client leaves before its refusal harms nobody", async () => {
  const { hostname, port } = new URL(gateway.url);
  for (let count = 0; count < 20; count++) {
    const socket = connect(Number(port), hostname);
    await once(socket, "connect");
    socket.write("CONNECT host:443 HTTP/1.1\r\nhost: x\r\n\r\n");
    await once(socket, "data");
    socket.resetAndDestroy();
    await once(socket, "close");
  }
  // An unexpected error would end the process, and this file's run.
  assert.equal((await send("GET", "/domains")).status, 200);
});

test("an unknown expectation is ignored, and 100-continue is answered", async () => {
  const reply = await send("GET", "/domains", { headers: { expect: "nothing" } });
  assert.equal(reply.status, 200);
  assertFullForm(reply);
  const body = "{}";
  const posted = await send("POST", "/hostingaccounts", { body, headers: { expect: "100-continue" } });
  assertError(posted, "bad_request");
});

test("an HTTP/1.0 request needs no Host header", async () => {
  const head = `GET /domains HTTP/1.0\r\nauthorization: ${authorization("GET", "/domains")}\r\n\r\n`;
  const reply = await sendRaw(gateway.url, head);
  assert.equal(reply.status, 200);
  assertFullForm(reply);
});

test("garbage after a request is never answered in place of that request", async () => {
  const target = "/domains/registrations/REG-00000000-000";
  const head = `GET ${target} HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization("GET", target)}\r\n\r\n`;
  const reply = await sendRaw(gateway.url, `${head}garbage\r\n\r\n`).catch(() => undefined);
  assert.notEqual((reply?.body as { error_code?: string } | undefined)?.error_code, "bad_request");
});

test("connections over the limit get retry-after, and their requests are not run", async (t) => {
  const small = await startTestGateway(t, { worker: false, server: { connectionsMax: 1 } });
  const caller = await small.addReseller();
  const { hostname, port } = new URL(small.url);
  const first = connect(Number(port), hostname);
  t.after(() => first.destroy());
  await new Promise((resolve) => first.once("connect", resolve));
  const reply = await small.send(caller, "GET", "/domains");
  assertError(reply, "service_unavailable");
  first.destroy();
  await new Promise((resolve) => first.once("close", resolve));
  let retried = await small.send(caller, "GET", "/domains");
  while (retried.status === 503) retried = await small.send(caller, "GET", "/domains");
  assert.equal(retried.status, 200);
});
