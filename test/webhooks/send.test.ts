import assert from "node:assert/strict";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { dirname } from "node:path";
import { test } from "node:test";
import { testCertificate } from "#hosting/channel/test-channel.ts";
import { systemClock } from "#lib/clock.ts";
import { createNameLookups } from "#lib/net/name-lookups.ts";
import { sendWebhook } from "#webhooks/send.ts";
import { loadCertificate } from "../../sandbox/registry/certificates.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { startNameServer } from "../harness/name-server.ts";
import { startReceiver } from "./stage.ts";

const loopback = { ranges: ["127.0.0.0/8", "::1/128"], allowsPlainHttp: true, ca: undefined };
const request = { resellerId: 1, headers: { "webhook-id": "evt_1_1_1" }, body: "{}" };
const send = (url: string, webhooks: object = {}) =>
  sendWebhook(
    { webhooks: { ...loopback, ...webhooks }, names: createNameLookups([]), clock: systemClock },
    { ...request, url },
  );

test("a name that leads to a private address by now is not connected to", async (t) => {
  let connections = 0;
  const server = createServer(() => {
    connections++;
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  for (const host of ["localhost", "127.0.0.1"]) {
    const attempt = await send(`http://${host}:${port}/`, { ranges: ["10.0.0.0/8"] });
    assert.equal(attempt.isDelivered, false);
    assert.match(attempt.errorText ?? "", /There is no public address for/);
  }
  assert.equal(connections, 0);
});

test("a name that has led elsewhere since it was judged is judged again, and only its allowed addresses are tried", async (t) => {
  const names = await startNameServer();
  t.after(() => names.close());
  const receiver = await startReceiver(t);
  const url = receiver.url.replace("127.0.0.1", "hook.example");
  const context = {
    webhooks: { ...loopback, ranges: ["127.0.0.1/32"] },
    names: createNameLookups([names.address]),
    clock: systemClock,
  };
  names.addresses.set("hook.example", ["10.0.0.1", "127.0.0.1", "169.254.169.254"]);
  assert.equal((await sendWebhook(context, { ...request, url })).isDelivered, true);
  names.addresses.set("hook.example", ["127.0.0.2"]);
  const rebound = await sendWebhook(context, { ...request, url });
  assert.match(rebound.errorText ?? "", /There is no public address for hook\.example/);
  assert.equal(receiver.received.length, 1);
});

test("TLS is checked: a stranger's certificate is refused before anything is sent", async (t) => {
  const { registry } = await startTestGateway(t, { worker: false });
  const { cert, key, caFile } = await loadCertificate(dirname(registry.caFile));
  const trusted = await startReceiver(t, { cert, key });
  const stranger = await testCertificate();
  const other = await startReceiver(t, { cert: stranger.certificate, key: stranger.key });
  const ca = await readFile(caFile, "utf8");
  const good = await send(trusted.url, { ca });
  assert.deepEqual([good.isDelivered, good.answerStatus], [true, 204], good.errorText);
  assert.equal(trusted.received[0]?.headers["webhook-id"], "evt_1_1_1");
  for (const [url, own] of [
    [trusted.url, {}],
    [other.url, { ca }],
  ] as const) {
    const refused = await send(url, own);
    assert.equal(refused.isDelivered, false);
    assert.match(refused.errorText ?? "", /^The connection failed: .*certif/i);
  }
  assert.deepEqual([trusted.received.length, other.received.length], [1, 0]);
});

test("plain HTTP needs the operator's leave", async (t) => {
  const receiver = await startReceiver(t);
  assert.match((await send(receiver.url, { allowsPlainHttp: false })).errorText ?? "", /https/);
  assert.deepEqual(receiver.received, []);
  assert.equal((await send(receiver.url)).isDelivered, true);
});

test("what answers is described: no listener, no HTTP, a break in the answer", async (t) => {
  const silent = createServer((socket) => socket.end("not HTTP\r\n\r\n"));
  await once(silent.listen(0, "127.0.0.1"), "listening");
  t.after(() => silent.close());
  const { port } = silent.address() as AddressInfo;
  assert.match((await send("http://127.0.0.1:1/")).errorText ?? "", /^The connection failed: .*ECONNREFUSED/);
  assert.match((await send(`http://127.0.0.1:${port}/`)).errorText ?? "", /^The connection failed: /);
  const receiver = await startReceiver(t);
  receiver.answer = (response) => {
    response.writeHead(200, { "content-length": "100" }).write("a part");
    setImmediate(() => response.destroy());
  };
  const broken = await send(receiver.url);
  assert.deepEqual([broken.isDelivered, broken.answerText], [true, "a part"], "its status says everything");
});
