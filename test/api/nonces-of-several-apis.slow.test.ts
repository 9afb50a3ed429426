import assert from "node:assert/strict";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Client } from "pg";
import { unixSeconds } from "#lib/clock.ts";
import { type ApiProcess, startApiProcess } from "../harness/api-process.ts";
import { assertError } from "../harness/assert-reply.ts";
import { startDatabaseProxy } from "../harness/database-proxy.ts";
import { startTestGateway, type TestGateway, type TestReseller } from "../harness/gateway.ts";
import { newNonce, type Reply, type SignedRequestOptions, sendSigned } from "../harness/signed-request.ts";
import { runSql } from "../harness/sql.ts";

// Each refused twin counts as a failure of its source.
const inDatabase = { DEEDHOUSE_NONCES: "database", DEEDHOUSE_SOURCE_FAILURES_MAX: "10000" };
const twinsMax = 200;

const gateway = await startTestGateway({ after });
const start = () => startApiProcess({ after }, gateway, gateway.databaseUrl, inDatabase);
const apis = [await start(), await start()] as const;
const reseller = await gateway.addReseller();

const sendTo = (
  api: ApiProcess,
  { context }: TestGateway,
  { key }: TestReseller,
  request: Partial<SignedRequestOptions>,
) => sendSigned({ url: api.url, key, clock: context.clock, method: "GET", target: "/domains", ...request });

const readyz = async ({ url }: ApiProcess) => {
  const response = await fetch(`${url}/readyz`);
  return { status: response.status, text: await response.text() };
};

const statuses = (replies: Reply[]) => replies.map(({ status }) => status).toSorted();

test("of identical reads at two apis, one is answered, and none after a kill", async () => {
  const twins = Array.from({ length: twinsMax }, () => ({
    nonce: newNonce(),
    timestamp: unixSeconds(gateway.context.clock),
  }));
  const replies = await Promise.all(
    twins.map((twin) => Promise.all(apis.map((api) => sendTo(api, gateway, reseller, twin)))),
  );
  for (const pair of replies) {
    assert.deepEqual(statuses(pair), [200, 401]);
    assertError(pair.find(({ status }) => status === 401)!, "authorization_nonce_reused");
  }
  await apis[0].kill();
  await apis[0].start();
  for (const twin of twins.slice(0, 20)) {
    assertError(await sendTo(apis[0], gateway, reseller, twin), "authorization_nonce_reused");
  }
  assert.equal((await sendTo(apis[0], gateway, reseller, {})).status, 200, "it refuses nothing else");
});

test("identical writes at two apis get one answer, and a refused one is answered once", async () => {
  for (let round = 0; round < 10; round++) {
    const request = { method: "POST", target: "/domains/registrations", nonce: newNonce() };
    const timestamp = unixSeconds(gateway.context.clock);
    const both = (body: object, nonce = newNonce()) =>
      Promise.all(apis.map((api) => sendTo(api, gateway, reseller, { ...request, body, nonce, timestamp })));
    const accepted = await both({ domain_name: `twin${round}.example` });
    assert.deepEqual(statuses(accepted), [202, 202], accepted.map(({ text }) => text).join());
    assert.equal(new Set(accepted.map(({ headers }) => headers.location)).size, 1);
    assert.deepEqual(statuses(await both({ domain_name: "not a name" })), [400, 401]);
  }
});

test("a nonce of a write is used for reads at the other api, and one of a read for writes", async () => {
  const write = { method: "POST", target: "/domains/registrations", body: { domain_name: "first.example" } };
  const [forWrite, forRead] = [newNonce(), newNonce()];
  assert.equal((await sendTo(apis[0], gateway, reseller, { ...write, nonce: forWrite })).status, 202);
  assertError(await sendTo(apis[1], gateway, reseller, { nonce: forWrite }), "authorization_nonce_reused");
  assert.equal((await sendTo(apis[0], gateway, reseller, { nonce: forRead })).status, 200);
  const body = { domain_name: "second.example" };
  const refused = await sendTo(apis[1], gateway, reseller, { ...write, body, nonce: forRead });
  assertError(refused, "authorization_nonce_reused");
  const orders = await runSql(gateway.databaseUrl, "SELECT FROM orders WHERE domain_name = 'second.example'");
  assert.equal(orders.length, 0);
});

test("a nonce that cannot be written is a 503, and nothing is answered without it", async (t) => {
  const lock = new Client({ connectionString: gateway.databaseUrl });
  lock.on("error", () => {});
  await lock.connect();
  t.after(() => lock.end());
  await lock.query("BEGIN; LOCK TABLE used_nonces IN ACCESS EXCLUSIVE MODE");
  assertError(await sendTo(apis[0], gateway, reseller, {}), "service_unavailable");
  await lock.query("ROLLBACK");
  assert.equal((await sendTo(apis[0], gateway, reseller, {})).status, 200);
});

test("an api with a journal serves alone, and its successor with the database knows its nonces", async (t) => {
  const gateway = await startTestGateway(t);
  const reseller = await gateway.addReseller();
  const journal = await startApiProcess(t, gateway);
  const read = { nonce: newNonce(), timestamp: unixSeconds(gateway.context.clock) };
  assert.equal((await sendTo(journal, gateway, reseller, read)).status, 200);

  for (const settings of [{}, inDatabase]) {
    const second = await startApiProcess(t, gateway, gateway.databaseUrl, settings);
    assertError(await sendTo(second, gateway, reseller, {}), "service_unavailable");
    const { status, text } = await readyz(second);
    assert.equal(status, 503);
    assert.match(text, /an api with a journal of nonces/);
    await second.kill();
  }

  await journal.kill();
  const settings = { ...inDatabase, DEEDHOUSE_REPLAY_DIR: journal.replayDir };
  const successor = await startApiProcess(t, gateway, gateway.databaseUrl, settings);
  assertError(await sendTo(successor, gateway, reseller, read), "authorization_nonce_reused");
  assert.equal((await sendTo(successor, gateway, reseller, {})).status, 200);

  await journal.start();
  assertError(await sendTo(journal, gateway, reseller, {}), "service_unavailable");
  await successor.kill();
  await journal.kill();
  await journal.start();
  assert.match((await readyz(journal)).text, /refusing every request for another [0-9]+ s/);
});

test("a machine that comes to the database later brings the nonces of its own journal", async (t) => {
  const gateway = await startTestGateway(t);
  const reseller = await gateway.addReseller();
  const machine = await startApiProcess(t, gateway);
  const other = await mkdtemp(join(tmpdir(), "deedhouse-machine-"));
  t.after(() => rm(other, { recursive: true }));
  await machine.kill();
  await cp(machine.replayDir, other, { recursive: true });
  const otherMachine = await startApiProcess(t, gateway, gateway.databaseUrl, { DEEDHOUSE_REPLAY_DIR: other });
  const read = () => ({ nonce: newNonce(), timestamp: unixSeconds(gateway.context.clock) });
  const [here, there] = [read(), read()];
  assert.equal((await sendTo(otherMachine, gateway, reseller, there)).status, 200);
  await otherMachine.kill();
  await machine.start();
  assert.equal((await sendTo(machine, gateway, reseller, here)).status, 200);
  await machine.kill();

  const comeWith = (folder: string) =>
    startApiProcess(t, gateway, gateway.databaseUrl, { ...inDatabase, DEEDHOUSE_REPLAY_DIR: folder });
  const first = await comeWith(machine.replayDir);
  assertError(await sendTo(first, gateway, reseller, here), "authorization_nonce_reused");
  const second = await comeWith(other);
  for (const api of [first, second]) {
    for (const used of [here, there]) {
      assertError(await sendTo(api, gateway, reseller, used), "authorization_nonce_reused");
    }
    assert.equal((await sendTo(api, gateway, reseller, {})).status, 200, "nothing else is refused");
  }
});

test("an api that has lost its connection meanwhile does not serve beside one of the other mode", async (t) => {
  for (const [mine, others] of [
    [{}, inDatabase],
    [inDatabase, {}],
  ]) {
    const gateway = await startTestGateway(t);
    const reseller = await gateway.addReseller();
    const proxy = await startDatabaseProxy(gateway.databaseUrl);
    t.after(() => proxy.close());
    const first = await startApiProcess(t, gateway, proxy.url, mine);
    assert.equal((await sendTo(first, gateway, reseller, {})).status, 200);
    const second = await startApiProcess(t, gateway, gateway.databaseUrl, others);
    assertError(await sendTo(second, gateway, reseller, {}), "service_unavailable");
    proxy.cut();
    // With its connections the first one has lost the lock. A journal that comes after the database refuses for five minutes.
    let state = await readyz(second);
    while (/an api with a journal|another api/.test(state.text)) state = await readyz(second);
    proxy.restore();
    let returned = await readyz(first);
    while (/waiting for the database/.test(returned.text)) returned = await readyz(first);
    assert.equal(returned.status, 503);
    assert.match(returned.text, /an api with a journal of nonces/);
    assertError(await sendTo(first, gateway, reseller, {}), "service_unavailable");
  }
});
