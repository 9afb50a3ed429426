import assert from "node:assert/strict";
import { once } from "node:events";
import type { Socket } from "node:net";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { testCertificate } from "#hosting/channel/test-channel.ts";
import { assertError, assertFullForm } from "../harness/assert-reply.ts";
import { startTestGateway } from "../harness/gateway.ts";
import {
  call,
  firstVersion,
  open,
  proxy,
  secondProxy,
  secondVersion,
  stranger,
  trusted,
} from "../harness/proxied-calls.ts";
import { authorize } from "../harness/signed-request.ts";

const proxies = { trusted, proxyProtocol: true };
const clear = await startTestGateway({ after }, { worker: false, server: { proxies, sourceFailuresMax: 3 } });
const secure = await startTestGateway(
  { after },
  {
    worker: false,
    server: { proxies: { ...proxies, header: "x-forwarded-for" }, tls: await testCertificate() },
  },
);
const client = "198.51.100.7";
const caller = async (gateway: typeof clear, allowed = client) =>
  gateway.addKey(await gateway.addReseller(), { allowedAddresses: [allowed] });

/** Cut, with a reset or without. */
const closed = (socket: Socket) => new Promise((resolve) => socket.resume().once("close", resolve));

test("the PROXY protocol names the client of each connection, in both versions", async () => {
  const as = await caller(clear);
  for (const before of [firstVersion(client), secondVersion(client)]) {
    const reply = await call({ gateway: clear, as, before });
    assert.equal(reply.status, 200, reply.text);
    assertFullForm(reply);
  }
  const other = await call({ gateway: clear, as, before: firstVersion("198.51.100.8") });
  assertError(other, "authorization_ip_not_allowed");
  const v6 = await caller(clear, "2001:db8::/32");
  assert.equal((await call({ gateway: clear, as: v6, before: firstVersion("2001:DB8::7", "::1") })).status, 200);
});

test("the PROXY protocol names the client beneath TLS too", async () => {
  const as = await caller(secure);
  for (const before of [firstVersion(client), secondVersion(client)]) {
    const reply = await call({ gateway: secure, as, before, tls: true });
    assert.equal(reply.status, 200, reply.text);
  }
  const other = await call({ gateway: secure, as, before: secondVersion("198.51.100.8"), tls: true });
  assertError(other, "authorization_ip_not_allowed");
  const many = Array.from({ length: 20 }, (_one, index) => (index % 2 === 0 ? client : `203.0.113.${index}`));
  const replies = await Promise.all(
    many.map((address) => call({ gateway: secure, as, before: secondVersion(address), tls: true })),
  );
  assert.deepEqual(
    replies.map(({ status }) => status),
    many.map((address) => (address === client ? 200 : 401)),
  );
});

test("bytes in one packet with a PROXY header are read after it, also a long body and a second request", async () => {
  const { key } = await caller(clear);
  const request = (method: string, target: string, body: string, line: string) => {
    const authorization = authorize({ key, clock: clear.context.clock, method, target, body });
    const head = `${method} ${target} HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\n${line}`;
    return `${head}content-length: ${body.length}\r\n\r\n${body}`;
  };
  for (const before of [Buffer.from(firstVersion(client)), secondVersion(client)]) {
    const long = request("POST", "/hostingaccounts", JSON.stringify({ identifier: "x".repeat(60_000) }), "");
    const last = request("GET", "/domains", "", "connection: close\r\n");
    const whole = Buffer.concat([before, Buffer.from(long + last)]);
    const socket = await open(clear.url, proxy);
    socket.write(whole);
    assert.match(await text(socket), /^HTTP\/1\.1 400 .*"bad_request".*HTTP\/1\.1 200 /s);
  }
});

test("a proxy behind one that speaks the PROXY protocol is trusted if it is listed too", async () => {
  const as = await caller(secure);
  const lines = [`X-Forwarded-For: 192.0.2.9, ${client}`];
  assert.equal((await call({ gateway: secure, as, before: firstVersion(secondProxy), lines, tls: true })).status, 200);
  const reply = await call({ gateway: secure, as, before: firstVersion("203.0.113.4"), lines, tls: true });
  assertError(reply, "authorization_ip_not_allowed");
});

test("a proxy that speaks for itself counts by its own address", async () => {
  const as = await caller(clear, proxy);
  for (const before of ["PROXY UNKNOWN\r\n", `PROXY UNKNOWN ${client} ${client} 1 1\r\n`, secondVersion(client, 0)]) {
    assert.equal((await call({ gateway: clear, as, before })).status, 200, String(before));
  }
});

test("a trusted peer that does not begin with a PROXY header is cut without an answer", async () => {
  const as = await caller(clear, proxy);
  for (const before of [undefined, "PROXY TCP4 x\r\n", "\r\n", firstVersion(client).slice(1)]) {
    const reply = await call({ gateway: clear, as, before }).catch(() => undefined);
    assert.equal(reply?.status ?? 0, 0, String(before));
  }
});

test("a PROXY header from anybody else is garbage", async () => {
  const as = await caller(clear, stranger);
  assert.equal((await call({ gateway: clear, as, from: stranger })).status, 200);
  for (const before of [firstVersion(client), secondVersion(client)]) {
    assertError(await call({ gateway: clear, as, from: stranger, before }), "bad_request");
  }
});

test("failures behind a proxy with the PROXY protocol count for the client that it names", async () => {
  const as = await clear.addReseller();
  const guessing = secondVersion("203.0.113.50");
  for (let failed = 0; failed < 3; failed++) {
    assert.equal((await call({ gateway: clear, before: guessing })).status, 401);
  }
  assertError(await call({ gateway: clear, as, before: guessing }), "rate_limit_exceeded");
  assert.equal((await call({ gateway: clear, as, before: secondVersion("203.0.113.51") })).status, 200);
});

test("a trusted peer that never sends its PROXY header is cut, and one that sends it in pieces is not", async (t) => {
  const hasty = await startTestGateway(t, { worker: false, server: { proxies: { ...proxies, proxyHeaderMs: 50 } } });
  for (const sent of ["", "PROXY TCP4 198.51"]) {
    const silent = await open(hasty.url, proxy, sent);
    await closed(silent);
  }
  const header = firstVersion(client);
  const slow = await open(clear.url, proxy);
  t.after(() => slow.destroy());
  for (const piece of header.match(/.{1,9}/gs)!) await new Promise((resolve) => slow.write(piece, resolve));
  slow.write("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
  const [answer] = await once(slow, "data");
  assert.match(String(answer), /^HTTP\/1\.1 200 /);
});

test("an api that stops does not wait for PROXY headers", async (t) => {
  const gateway = await startTestGateway(t, {
    worker: false,
    server: { proxies: { ...proxies, proxyHeaderMs: 300_000 } },
  });
  const silent = await open(gateway.url, proxy, "PROXY ");
  await Promise.all([closed(silent), gateway.restartApi()]);
});
