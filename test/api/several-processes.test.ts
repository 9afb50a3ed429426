import assert from "node:assert/strict";
import { test } from "node:test";
import { Client } from "pg";
import { unixSeconds } from "#lib/clock.ts";
import { type ApiProcess, startApiProcess } from "../harness/api-process.ts";
import { assertError } from "../harness/assert-reply.ts";
import { startTestGateway } from "../harness/gateway.ts";
import { newNonce, type SignedRequestOptions, sendSigned } from "../harness/signed-request.ts";
import { runSql, untilHeldUp } from "../harness/sql.ts";

test("two api processes that get the same write at the same time commit it once and give one answer", async (t) => {
  const gateway = await startTestGateway(t);
  const api = await startApiProcess(t, gateway);
  const { key } = await gateway.addReseller();
  const pack = await gateway.addPack();
  const { clock } = gateway.context;
  const toBoth = (target: string, options: SignedRequestOptions) =>
    Promise.all(
      [gateway.url, api.url, gateway.url, api.url].map((url) =>
        sendSigned({ url, key, clock, method: "POST", target, ...options }),
      ),
    );
  const assertOneAnswer = (replies: Awaited<ReturnType<typeof toBoth>>, replays: number) => {
    assert.deepEqual(
      replies.map(({ status }) => status),
      [202, 202, 202, 202],
      replies.map(({ text }) => text).join(),
    );
    assert.equal(new Set(replies.map(({ headers }) => headers.location)).size, 1);
    assert.equal(replies.filter(({ headers }) => headers["idempotency-replayed"] === "true").length, replays);
  };

  for (let round = 0; round < 5; round++) {
    const domain = { domain_name: `both${round}.example` };
    const account = { servicepack_id: pack, identifier: `both${round}.example`, password: "correct horse battery" };
    const headers = { "idempotency-key": `key-${round}` };
    assertOneAnswer(await toBoth("/domains/registrations", { body: domain, headers }), 3);
    assertOneAnswer(await toBoth("/hostingaccounts", { body: account, headers }), 3);
  }
  const [made] = await runSql(
    gateway.databaseUrl,
    `SELECT (SELECT count(*)::int FROM orders WHERE kind = 'create') AS orders,
       (SELECT count(*)::int FROM hosting_accounts) AS accounts`,
  );
  assert.deepEqual(made, { orders: 5, accounts: 5 });

  // With a journal each, the database recognises a repeated write.
  const timestamp = unixSeconds(clock);
  const body = { domain_name: "pending-never-nonce.example" };
  const target = "/domains/registrations";
  const identical = { key, clock, method: "POST", target, body, nonce: newNonce(), timestamp };
  const [first, second] = await Promise.all([gateway.url, api.url].map((url) => sendSigned({ ...identical, url })));
  assert.deepEqual([first?.status, second?.status], [202, 202]);
  assert.equal(first?.headers.location, second?.headers.location);
});

test("a second api on a used database reports that it is not ready while it refuses every request", async (t) => {
  const gateway = await startTestGateway(t);
  const { key } = await gateway.addReseller();
  const readyz = async ({ url }: ApiProcess) => {
    const response = await fetch(`${url}/readyz`);
    return { status: response.status, text: await response.text() };
  };
  const first = await startApiProcess(t, gateway);
  assert.equal((await readyz(first)).status, 200);
  // Together they would not know each other's nonces.
  await first.kill();
  const second = await startApiProcess(t, gateway);
  const read = await sendSigned({
    url: second.url,
    key,
    clock: gateway.context.clock,
    method: "GET",
    target: "/domains",
  });
  assertError(read, "authorization_timestamp_invalid");
  const { status, text } = await readyz(second);
  assert.equal(status, 503);
  assert.match(text, /refusing every request for another [0-9]+ s/);
});

test("a lock on the answers of committed writes delays no read", async (t) => {
  const gateway = await startTestGateway(t, { worker: false });
  const reseller = await gateway.addReseller();
  const pack = await gateway.addPack();
  const account = { servicepack_id: pack, identifier: "locked.example", password: "correct horse battery" };
  const write = { body: account, nonce: newNonce(), timestamp: unixSeconds(gateway.context.clock) };
  const send = () => gateway.send(reseller, "POST", "/hostingaccounts", write);
  assert.equal((await send()).status, 202);
  const lock = new Client({ connectionString: gateway.databaseUrl });
  lock.on("error", () => {});
  await lock.connect();
  await lock.query("BEGIN; LOCK TABLE committed_requests");
  // One on each of the connections for reads.
  const resends = [send(), send(), send(), send()];
  let isResent = false;
  void Promise.race(resends).then(() => {
    isResent = true;
  });
  await untilHeldUp(gateway.databaseUrl, 2);
  for (let reads = 0; reads < 20; reads++) {
    assert.equal((await gateway.send(reseller, "GET", "/domains")).status, 200);
  }
  assert.equal(isResent, false);
  await lock.end();
  for (const { status } of await Promise.all(resends)) assert.equal(status, 202);
});
