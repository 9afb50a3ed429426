/** A client library behind a network that loses requests and answers: nothing is done twice, and nothing is lost. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { dirname } from "node:path";
import { type TestContext, test } from "node:test";
import { testCertificate } from "#hosting/channel/test-channel.ts";
import { loadCertificate } from "../../sandbox/registry/certificates.ts";
import { type FaultRelay, type NetworkFault, relayAnswer, startFaultRelay } from "../harness/fault-relay.ts";
import { startTestGateway, type TestGateway, type TestReseller } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { createSteeredClock } from "../harness/steered-clock.ts";
import { type Fields, type ForeignClient, type Language, startForeignClient } from "./foreign-client.ts";

/** Within the head of an answer. */
const headBytes = 20;
const windowSeconds = 300;

const faults: Record<string, NetworkFault[]> = {
  "the request is lost": ["request lost"],
  "the answer is lost": ["answer lost"],
  "the answer ends in its head": [{ bytes: headBytes }],
  "the answer ends just before its end": [{ bytes: -1 }],
  "request, answer and answer are lost": ["request lost", "answer lost", "answer lost"],
};

interface Stage {
  gateway: TestGateway;
  reseller: TestReseller;
  relay: FaultRelay;
  client: ForeignClient;
}

async function startStage(
  t: TestContext,
  language: Language,
  options: Parameters<typeof startTestGateway>[1] = {},
  retriesMax = 6,
): Promise<Stage> {
  const gateway = await startTestGateway(t, options);
  const reseller = await gateway.addReseller();
  const relay = await startFaultRelay(Number(new URL(gateway.url).port));
  t.after(() => relay.close());
  const settings = { url: `http://127.0.0.1:${relay.port}/v1`, apiKey: reseller.key.id, isInstant: true, retriesMax };
  const apiSecret = reseller.key.secret.reveal();
  return { gateway, reseller, relay, client: await startForeignClient(t, language, { ...settings, apiSecret }) };
}

const ordersOf = ({ gateway }: Stage, name: string) =>
  runSql(
    gateway.databaseUrl,
    `SELECT order_code AS code FROM orders WHERE domain_name = $1
     UNION ALL SELECT order_code FROM orders WHERE domain_name = $1`,
    [name],
  );

const executed = ({ gateway }: Stage, command: string, name: string) =>
  gateway.registry.store.journal.entries({ name, command }).filter((entry) => entry.executed).length;

export function testFaults(language: Language): void {
  const rule = (name: string, run: (t: TestContext) => Promise<void>) =>
    test(`${language.name}: ${name}`, { skip: language.skip }, run);

  rule("whatever the network loses, each write is carried out once", async (t) => {
    const stage = await startStage(t, language, { node: true });
    const servicePackId = await stage.gateway.addPack();
    let count = 0;
    for (const [what, these] of Object.entries(faults)) {
      count += 1;
      await t.test(`${what}: a registration, a renewal and a delete`, () =>
        orderOnce(stage, `once-${count}.example`, these),
      );
      await t.test(`${what}: a hosting account`, () => hostOnce(stage, `site-${count}.example`, servicePackId, these));
      await t.test(`${what}: a read`, () => readOnce(stage, these));
    }
  });

  rule("429 and 503 are waited for as they say, and the very same request is sent again", (t) =>
    waitAsTold(t, language),
  );
  rule("a write whose signature becomes too old is signed again, and is still the same write", (t) =>
    signAgain(t, language),
  );
  rule("a write is the same in another process with the same idempotency key", (t) => tryAgainLater(t, language));
  rule("a connection that was closed while idle costs no retry", (t) => reconnect(t, language));
  rule("checks certificates, also those of a private authority", (t) => checkCertificates(t, language));
}

async function orderOnce(stage: Stage, domainName: string, these: NetworkFault[]): Promise<void> {
  const { client, relay } = stage;
  const order = async (method: string, args: object) => {
    relay.faults.push(...these);
    const placed = await client.get(method, { domainName, ...args });
    assert.deepEqual(relay.faults, []);
    const ended = await client.get("finished", { order: placed.orderCode });
    assert.equal((ended.data as Fields).status, "Finished");
    return placed.orderCode;
  };
  const registration = await order("registerDomain", {});
  assert.deepEqual(await ordersOf(stage, domainName), [{ code: registration }]);
  const { expiration_date: expirationDate } = await client.data("getDomain", { domainName });
  const renewal = await order("renewDomain", { years: 1, expirationDate });
  const deletion = await order("deleteDomain", {});
  const codes = (await ordersOf(stage, domainName)).map(({ code }) => code);
  assert.deepEqual(new Set(codes), new Set([registration, renewal, deletion]));
  assert.equal(codes.length, 3);
  for (const command of ["domain:create", "domain:renew", "domain:delete"])
    assert.equal(executed(stage, command, domainName), 1, command);
}

async function hostOnce(stage: Stage, identifier: string, servicePackId: string, these: NetworkFault[]): Promise<void> {
  const { client, relay, gateway } = stage;
  relay.faults.push(...these);
  const password = "correct-horse-battery";
  const placed = await client.get("createHostingAccount", { identifier, servicePackId, password });
  assert.equal(placed.identifier, identifier);
  await client.get("provisioned", { account: identifier });
  const version = async () =>
    (
      await runSql(gateway.databaseUrl, "SELECT wanted_version FROM hosting_accounts WHERE identifier = $1", [
        identifier,
      ])
    )[0]!.wanted_version as string;
  const before = await version();
  relay.faults.push(...these);
  assert.equal((await client.get("setHostingPassword", { identifier, password: `${password}-2` })).status, 202);
  assert.equal(Number(await version()), Number(before) + 1);
  assert.deepEqual(relay.faults, []);
}

async function readOnce({ client, relay }: Stage, these: NetworkFault[]): Promise<void> {
  relay.faults.push(...these);
  const found = await client.data<Fields[]>("listHostingAccounts");
  assert.ok(found.length > 0);
  assert.deepEqual(relay.faults, []);
}

async function waitAsTold(t: TestContext, language: Language): Promise<void> {
  const stage = await startStage(t, language, { worker: false });
  const { client, relay, reseller } = stage;
  relay.faults.push(relayAnswer(429, { "retry-after": "7" }), relayAnswer(503, { "retry-after": "42" }));
  const write = {
    identifier: "busy.example",
    servicePackId: await stage.gateway.addPack(),
    password: "correct-horse-battery",
  };
  const { slept } = await client.say("createHostingAccount", write);
  assert.deepEqual(slept, [7, 42]);
  const sent = relay.carried.map(({ fault: _fault, ...request }) => JSON.stringify(request));
  assert.deepEqual([sent.length, new Set(sent).size], [3, 1]);
  const { body } = await stage.gateway.send(reseller, "GET", "/hostingaccounts");
  assert.equal((body as unknown as Fields[]).length, 1);
}

/** The client's clock advances by what it is asked to wait, and the gateway's with it. */
async function signAgain(t: TestContext, language: Language): Promise<void> {
  const clock = createSteeredClock();
  const stage = await startStage(t, language, { clock });
  const { client, relay } = stage;
  const waits = [100, 100, 110];
  const busy = waits.map((seconds) => relayAnswer(503, { "retry-after": String(seconds) }));
  relay.faults.push("answer lost", ...busy);
  const aheadSeconds = waits.reduce((sum, seconds) => sum + seconds, 0);
  assert.ok(aheadSeconds > windowSeconds);
  const placing = client.say("registerDomain", { domainName: "late.example" });
  // The first request is signed before the clock moves: its answer is lost.
  while (relay.carried.length < 2) await new Promise(setImmediate);
  clock.skip(aheadSeconds / 3_600);
  const { result, slept } = await placing;
  const requests = relay.carried;
  const keys = new Set(requests.map(({ headers }) => headers["idempotency-key"]));
  assert.equal(keys.size, 1);
  const signatures = requests.map(({ headers }) => headers.authorization);
  const [first, ...rest] = signatures;
  assert.equal(new Set(signatures).size, 2);
  assert.equal(
    signatures.lastIndexOf(first),
    signatures.length - 2,
    `the last is signed again: ${slept} ${rest.length}`,
  );
  assert.deepEqual(await ordersOf(stage, "late.example"), [{ code: result?.orderCode }]);
}

async function tryAgainLater(t: TestContext, language: Language): Promise<void> {
  const stage = await startStage(t, language, {}, 0);
  const { client, relay, reseller } = stage;
  relay.faults.push("answer lost");
  const write = { domainName: "later.example", idempotencyKey: "shop-order-17" };
  assert.equal((await client.fail("registerDomain", write)).type, "NoAnswer");
  const other = await startForeignClient(t, language, {
    url: `http://127.0.0.1:${relay.port}/v1`,
    apiKey: reseller.key.id,
    apiSecret: reseller.key.secret.reveal(),
  });
  const placed = await other.get("registerDomain", write);
  assert.deepEqual(await ordersOf(stage, "later.example"), [{ code: placed.orderCode }]);
}

async function reconnect(t: TestContext, language: Language): Promise<void> {
  const { client, relay } = await startStage(t, language, { worker: false }, 0);
  await client.get("listDomains");
  await client.get("listDomains");
  relay.reset();
  await client.get("listDomains");
  assert.equal(relay.carried.length, 3);
}

async function checkCertificates(t: TestContext, language: Language): Promise<void> {
  const { registry } = await startTestGateway(t, { worker: false });
  const { cert, key, caFile } = await loadCertificate(dirname(registry.caFile));
  const start = async (pair: { cert: string; key: string }) => {
    let requests = 0;
    const server = createServer(pair, (_, response) => {
      requests += 1;
      response.end("[]");
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    t.after(() => server.close());
    t.after(() => server.closeAllConnections());
    return { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, requests: () => requests };
  };
  const trusted = await start({ cert, key });
  const stranger = await testCertificate();
  const other = await start({ cert: stranger.certificate, key: stranger.key });
  const settings = { apiKey: "0".repeat(32), apiSecret: "secret", isInstant: true };
  const client = await startForeignClient(t, language, { ...settings, url: trusted.url, caFile });
  assert.deepEqual(await client.data("listDomains"), []);
  for (const [url, own] of [
    [trusted.url, {}],
    [other.url, { caFile }],
  ] as const) {
    const refusing = await startForeignClient(t, language, { ...settings, url, ...own });
    const { error, slept } = await refusing.say("listDomains");
    assert.match(
      error?.message ?? "no error",
      /: its certificate is not trusted \(.+\); for a private authority, (give|start Node with)/,
    );
    assert.deepEqual(slept, []);
  }
  assert.deepEqual([trusted.requests(), other.requests()], [1, 0]);
}
