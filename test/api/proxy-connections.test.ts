import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { testCertificate } from "#hosting/channel/test-channel.ts";
import { sourceSharesDefault } from "#lib/net/connection-limits.ts";
import { assertError } from "../harness/assert-reply.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { call, firstVersion, open, proxy, secondVersion, stranger, trusted } from "../harness/proxied-calls.ts";

const sourceConnectionsMax = 3;
const shares = { ...sourceSharesDefault, sourceConnectionsMax };
const client = "203.0.113.1";

/** Opens one connection more than a source's limit. */
async function hold(t: TestContext, url: string, from: string, before?: string | Buffer, tls?: boolean) {
  for (let opened = 0; opened <= sourceConnectionsMax; opened++) {
    const socket = await open(url, from, before, tls);
    t.after(() => socket.destroy());
    socket.write("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n");
  }
}

test("a trusted proxy has no connection limit, and a stranger has one", async (t) => {
  const proxies = { trusted, header: "x-forwarded-for", proxyProtocol: false } as const;
  const gateway = await startTestGateway(t, { worker: false, server: { proxies, shares } });
  const as = await gateway.addReseller();
  await hold(t, gateway.url, proxy);
  assert.equal((await call({ gateway, as })).status, 200);
  await hold(t, gateway.url, stranger);
  assertError(await call({ gateway, as, from: stranger }), "service_unavailable");
  assert.equal((await call({ gateway, as })).status, 200);
});

for (const tls of [false, true]) {
  const layer = tls ? ", beneath TLS" : "";
  test(`connections that a PROXY header names a client for are capped as the client's own${layer}`, async (t) => {
    const proxies = { trusted, proxyProtocol: true };
    const server = { proxies, shares, tls: tls ? await testCertificate() : undefined };
    const gateway = await startTestGateway(t, { worker: false, server });
    const as = await gateway.addReseller();
    await hold(t, gateway.url, proxy, firstVersion(client), tls);
    const one = { gateway, as, tls };
    assertError(await call({ ...one, before: secondVersion(client) }), "service_unavailable");
    assert.equal((await call({ ...one, before: secondVersion("203.0.113.2") })).status, 200);
    assert.equal((await call({ ...one, before: secondVersion(client, 0) })).status, 200);
  });
}
