/** The library for TypeScript behind a network that loses requests and answers: nothing is done twice, and nothing is lost. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { after, beforeEach, test } from "node:test";
import { testCertificate } from "#hosting/channel/test-channel.ts";
import { type ClientOptions, createClient } from "../../client/sdk/client.ts";
import type { Clock } from "../../client/sdk/clock.ts";
import { ConnectionError } from "../../client/sdk/errors.ts";
import type { PlacedOrder } from "../../client/sdk/types.ts";
import { type NetworkFault, relayAnswer, startFaultRelay } from "../harness/fault-relay.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { createSteeredClock } from "../harness/steered-clock.ts";

/** Within the head of an answer. */
const headBytes = 20;
const windowSeconds = 300;
const password = "correct-horse-battery";

const faults: Record<string, NetworkFault[]> = {
  "the request is lost": ["request lost"],
  "the answer is lost": ["answer lost"],
  "the answer ends in its head": [{ bytes: headBytes }],
  "the answer ends just before its end": [{ bytes: -1 }],
  "request, answer and answer are lost": ["request lost", "answer lost", "answer lost"],
};

const serviceClock = createSteeredClock();
const gateway = await startTestGateway({ after }, { clock: serviceClock, node: true });
const { key } = await gateway.addReseller();
const servicePackId = await gateway.addPack();
const relay = await startFaultRelay(Number(new URL(gateway.url).port));
after(() => relay.close());

const delaysMs: number[] = [];
let elapsedMs = 0;
/** A sleep takes no time: it moves the client's clock, and the service's with it. */
const clock: Clock = {
  now: () => serviceClock.now(),
  monotonicMs: () => elapsedMs,
  async sleep(delayMs, signal) {
    signal?.throwIfAborted();
    delaysMs.push(delayMs);
    elapsedMs += delayMs;
    serviceClock.skip(delayMs / 3_600_000);
  },
};
const openClient = (options: Partial<ClientOptions> = {}) =>
  createClient({
    url: `http://127.0.0.1:${relay.port}/v1`,
    apiKey: key.id,
    apiSecret: key.secret.reveal(),
    clock,
    ...options,
  });
const client = openClient();

beforeEach(() => {
  relay.carried.length = 0;
  delaysMs.length = 0;
});

/** Past the relay. */
const direct = openClient({ url: gateway.url });
const ordersOf = async (domainName: string) =>
  (await direct.listOrders({ domainName })).data.map(({ order_code }) => order_code);
const executed = (command: string, name: string) =>
  gateway.registry.store.journal.entries({ name, command }).filter((entry) => entry.executed).length;
/** What the relay got, without repeats: what a retry sends again is not told apart. */
const sent = () =>
  new Set(relay.carried.map(({ method, target, headers, body }) => JSON.stringify([method, target, headers, body])));

for (const [index, [what, these]] of Object.entries(faults).entries()) {
  test(`${what}: a registration, a renewal and a delete are carried out once`, async () => {
    const name = `once-${index}.example`;
    const order = async (place: () => Promise<PlacedOrder>) => {
      relay.faults.push(...these);
      const placed = await place();
      assert.deepEqual(relay.faults, []);
      await client.finished(placed);
      return placed.data.order_code;
    };
    const registration = await order(() => client.registerDomain(name));
    const { expiration_date: expirationDate } = (await client.getDomain(name)).data;
    const renewal = await order(() => client.renewDomain(name, { years: 1, expirationDate }));
    const deletion = await order(() => client.deleteDomain(name));
    assert.deepEqual((await ordersOf(name)).sort(), [registration, renewal, deletion].sort());
    for (const command of ["domain:create", "domain:renew", "domain:delete"])
      assert.equal(executed(command, name), 1, command);
  });

  test(`${what}: an account is created and its password set once, and a read is answered`, async () => {
    const identifier = `site-${index}.example`;
    relay.faults.push(...these);
    const placed = await client.createHostingAccount({ identifier, servicePackId, password });
    await client.provisioned(placed);
    const version = async () => {
      const text = "SELECT wanted_version FROM hosting_accounts WHERE identifier = $1";
      return Number((await runSql(gateway.databaseUrl, text, [identifier]))[0]?.wanted_version);
    };
    const before = await version();
    relay.faults.push(...these);
    await client.setHostingPassword(identifier, `${password}-2`);
    assert.equal(await version(), before + 1);
    relay.faults.push(...these);
    assert.equal((await client.getHostingAccount(identifier)).data.identifier, identifier);
    assert.deepEqual(relay.faults, []);
  });
}

test("429 and 503 are waited for as they say, and the very same request is sent again", async () => {
  relay.faults.push(relayAnswer(429, { "retry-after": "7" }), relayAnswer(503, { "retry-after": "42" }));
  const placed = await client.registerDomain("busy.example");
  assert.deepEqual(delaysMs, [7_000, 42_000]);
  assert.deepEqual([relay.carried.length, sent().size], [3, 1]);
  assert.deepEqual(await ordersOf("busy.example"), [placed.data.order_code]);
});

test("a write whose signature becomes too old is signed again with its idempotency key, and is the same order", async () => {
  const waitsSeconds = [100, 100, 110];
  assert.ok(waitsSeconds.reduce((sum, seconds) => sum + seconds) > windowSeconds);
  relay.faults.push("answer lost");
  for (const seconds of waitsSeconds) relay.faults.push(relayAnswer(503, { "retry-after": String(seconds) }));
  const placed = await client.registerDomain("late.example");
  const [first, ...others] = relay.carried.map(({ headers }) => headers.authorization);
  const last = others.pop();
  assert.deepEqual(others, [first, first, first]);
  assert.notEqual(last, first);
  assert.equal(new Set(relay.carried.map(({ headers }) => headers["idempotency-key"])).size, 1);
  assert.deepEqual(await ordersOf("late.example"), [placed.data.order_code]);
});

test("a write that ended without an answer is the same order for another process with its idempotency key", async () => {
  const idempotencyKey = "shop-order-17";
  relay.faults.push("answer lost");
  const once = openClient({ retriesMax: 0 });
  await assert.rejects(once.registerDomain("later.example", { idempotencyKey }), ConnectionError);
  const placed = await openClient().registerDomain("later.example", { idempotencyKey });
  assert.deepEqual(await ordersOf("later.example"), [placed.data.order_code]);
});

test("a certificate that is not trusted is not tried again, and the error says what to do", async () => {
  const { certificate: cert, key } = await testCertificate();
  const server = createServer({ cert, key }, () => assert.fail("a request has arrived"));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await assert.rejects(openClient({ url }).listDomains(), (error) => {
    assert.ok(error instanceof ConnectionError && error.isPermanent);
    assert.match(error.message, /: its certificate is not trusted \(\w+\); for a private authority, start Node with/);
    return true;
  });
  assert.deepEqual(delaysMs, []);
  server.closeAllConnections();
  server.close();
  await once(server, "close");
});
