import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertError, assertFullForm } from "../harness/assert-reply.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { call, open, proxy, secondProxy, stranger, trusted } from "../harness/proxied-calls.ts";

const failuresMax = 100;
const proxies = { trusted, header: "x-forwarded-for", proxyProtocol: false } as const;
const server = { proxies, sourceFailuresMax: failuresMax, sourceRequestsMax: 2 };
const gateway = await startTestGateway({ after }, { worker: false, server });
const standard = await startTestGateway(
  { after },
  {
    worker: false,
    server: { ...server, proxies: { ...proxies, header: "forwarded" } },
  },
);
const reseller = await gateway.addReseller();
const failures = ({ headers }: { headers: Record<string, string> }) => Number(headers["x-ratelimit-usage"]);
const forwarded = (...nodes: string[]) => [`X-Forwarded-For: ${nodes.join(", ")}`];

test("a client behind a proxy uses up its own budget of failures, and locks out nobody else behind it", async () => {
  const guessing = forwarded("203.0.113.1");
  for (let failed = 1; failed <= failuresMax; failed++) {
    const refused = await call({ gateway, lines: guessing });
    assert.deepEqual([refused.status, failures(refused)], [401, failed]);
  }
  assertError(await call({ gateway, as: reseller, lines: guessing }), "rate_limit_exceeded");
  for (const lines of [forwarded("203.0.113.2"), forwarded("2001:db8::1"), []]) {
    const reply = await call({ gateway, as: reseller, lines });
    assert.equal(reply.status, 200, reply.text);
    assertFullForm(reply);
  }
});

test("a key's allow-list matches the address that the proxy names", async () => {
  const key = await gateway.addKey(reseller, { allowedAddresses: ["198.51.100.7", "2001:db8:7::/48"] });
  for (const node of ["198.51.100.7", "198.51.100.7:4711", "[2001:db8:7::1]:443", "2001:DB8:7:1::1"]) {
    assert.equal((await call({ gateway, as: key, lines: forwarded(node) })).status, 200, node);
  }
  for (const lines of [forwarded("198.51.100.8"), forwarded("unknown"), forwarded("198.51.100.7", "x"), []]) {
    assertError(await call({ gateway, as: key, lines }), "authorization_ip_not_allowed");
  }
});

test("entries that a client writes to the left of its proxy's own are not trusted", async () => {
  const key = await gateway.addKey(reseller, { allowedAddresses: ["198.51.100.7"] });
  // Another proxy, which is trusted too.
  const hop = secondProxy;
  for (const lines of [
    forwarded("198.51.100.7", "203.0.113.3"),
    [...forwarded("198.51.100.7"), ...forwarded("203.0.113.3")],
    [...forwarded("203.0.113.3"), "Forwarded: for=198.51.100.7"],
    forwarded("198.51.100.7", "203.0.113.3", hop),
  ]) {
    assertError(await call({ gateway, as: key, lines }), "authorization_ip_not_allowed");
  }
  for (const lines of [
    forwarded("203.0.113.3", "198.51.100.7"),
    [...forwarded("203.0.113.3"), ...forwarded("198.51.100.7")],
    [...forwarded("198.51.100.7"), ...forwarded(hop)],
  ]) {
    assert.equal((await call({ gateway, as: key, lines })).status, 200, lines.join());
  }
});

test("headers of a peer that is not a trusted proxy are ignored", async () => {
  const key = await gateway.addKey(reseller, { allowedAddresses: ["198.51.100.7"] });
  const lines = forwarded("198.51.100.7");
  assertError(await call({ gateway, as: key, from: stranger, lines }), "authorization_ip_not_allowed");
  const own = await gateway.addKey(reseller, { allowedAddresses: [stranger] });
  assert.equal((await call({ gateway, as: own, from: stranger, lines })).status, 200);
});

test("Forwarded is read as RFC 7239 defines it, and the other header is ignored", async () => {
  const caller = await standard.addReseller();
  const key = await standard.addKey(caller, { allowedAddresses: ["198.51.100.7", "2001:db8:7::/48"] });
  const gone = { gateway: standard, as: key };
  for (const line of [
    "for=198.51.100.7",
    'For="198.51.100.7:80";proto=https',
    'by=_p;for="[2001:db8:7::1]:4711"',
    'for=", for=198.51.100.7',
    `for=198.51.100.7, for=${secondProxy}`,
  ]) {
    assert.equal((await call({ ...gone, lines: [`Forwarded: ${line}`] })).status, 200, line);
  }
  for (const line of ["for=unknown", "for=_hidden", "for=2001:db8:7::1", "by=198.51.100.7", "for=198.51.100.7,for=a"]) {
    const reply = await call({ ...gone, lines: [`Forwarded: ${line}`] });
    assertError(reply, "authorization_ip_not_allowed");
  }
  assertError(await call({ ...gone, lines: forwarded("198.51.100.7") }), "authorization_ip_not_allowed");
});

test("requests in progress count for the client that a proxy names, and one too many gets retry-after", async (t) => {
  const one = forwarded("203.0.113.9");
  const unfinished = `POST /domains HTTP/1.1\r\nhost: x\r\n${one[0]}\r\ncontent-length: 5\r\n\r\n1`;
  const held = [await open(gateway.url, proxy), await open(gateway.url, secondProxy)];
  t.after(() => held.map((socket) => socket.destroy()));
  for (const socket of held) socket.write(unfinished);
  let refused = await call({ gateway, as: reseller, lines: one });
  while (refused.status === 200) refused = await call({ gateway, as: reseller, lines: one });
  assertError(refused, "service_unavailable");
  assert.ok(Number(refused.headers["retry-after"]) > 0);
  assertFullForm(refused);
  assert.equal((await call({ gateway, as: reseller, lines: forwarded("203.0.113.10") })).status, 200);
  assert.equal((await call({ gateway, as: reseller, from: stranger, lines: one })).status, 200);
  held[0]!.destroy();
  let again = await call({ gateway, as: reseller, lines: one });
  while (again.status === 503) again = await call({ gateway, as: reseller, lines: one });
  assert.equal(again.status, 200);
});
