import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { createReplayGuard } from "#api/replay/replay.ts";
import { unixSeconds } from "#lib/clock.ts";
import { assertError, assertFullForm } from "../harness/assert-reply.ts";
import { startTestGateway, type TestReseller } from "../harness/gateway.ts";
import { createManualClock } from "../harness/manual-clock.ts";
import { newNonce, type Reply, type SignedRequestOptions } from "../harness/signed-request.ts";
import { runSql } from "../harness/sql.ts";

const gateway = await startTestGateway({ after });
const reseller = await gateway.addReseller();

const registration = (domain_name: string, nonce: string): SignedRequestOptions => ({ body: { domain_name }, nonce });
const register = (domain_name: string, nonce: string, as: TestReseller = reseller) =>
  gateway.send(as, "POST", "/domains/registrations", registration(domain_name, nonce));
const ordersOf = (name: string) =>
  runSql(gateway.databaseUrl, "SELECT order_code FROM orders WHERE domain_name = $1", [name]);
const errorCode = (reply: Reply) => (reply.body as { error_code?: string } | undefined)?.error_code;

test("a nonce is good for one request of its key", async () => {
  const nonce = newNonce();
  assert.equal((await gateway.send(reseller, "GET", "/domains", { nonce })).status, 200);
  assertError(await gateway.send(reseller, "GET", "/domains", { nonce }), "authorization_nonce_reused");
  assertError(await gateway.send(reseller, "GET", "/servicepacks", { nonce }), "authorization_nonce_reused");
  const otherKey = await gateway.addKey(reseller);
  assert.equal((await gateway.send(otherKey, "GET", "/domains", { nonce })).status, 200);
});

test("of identical reads in flight exactly one is served", async () => {
  for (let round = 0; round < 5; round++) {
    const nonce = newNonce();
    const replies = await Promise.all(
      Array.from({ length: 8 }, () => gateway.send(reseller, "GET", "/domains", { nonce })),
    );
    assert.deepEqual(replies.map(({ status }) => status).toSorted(), [200, ...Array(7).fill(401)]);
  }
});

test("identical writes in flight make one order, and are answered with it or refused", async () => {
  const nonce = newNonce();
  const replies = await Promise.all(Array.from({ length: 8 }, () => register("twins.example", nonce)));
  const accepted = replies.filter(({ status }) => status === 202);
  assert.ok(accepted.length >= 1);
  assert.equal(new Set(accepted.map(({ headers }) => headers.location)).size, 1);
  for (const reply of replies.filter(({ status }) => status !== 202)) assertError(reply, "authorization_nonce_reused");
  assert.equal((await ordersOf("twins.example")).length, 1);
});

test("the resend of a committed write gets the stored answer, whatever the order's state, also after a restart", async () => {
  const nonce = newNonce();
  const timestamp = unixSeconds(gateway.context.clock);
  const send = () => {
    const options = { ...registration("resent.example", nonce), timestamp };
    return gateway.send(reseller, "POST", "/v1/domains/registrations", options);
  };
  const first = await send();
  assert.equal(first.status, 202, first.text);
  await gateway.settled(reseller, first.headers.location ?? "");
  for (const restart of [false, true]) {
    if (restart) await gateway.restartApi();
    const again = await send();
    assertFullForm(again);
    assert.deepEqual([again.status, again.headers.location], [202, first.headers.location]);
    assert.equal(again.headers["check-after"], first.headers["check-after"]);
    assert.notEqual(again.headers["x-request-id"], first.headers["x-request-id"]);
  }
  assert.equal((await ordersOf("resent.example")).length, 1);
});

test("another request under the nonce of a committed write is refused", async () => {
  const nonce = newNonce();
  assert.equal((await register("mine.example", nonce)).status, 202);
  assertError(await register("mine2.example", nonce), "authorization_nonce_reused");
  assertError(await gateway.send(reseller, "GET", "/domains", { nonce }), "authorization_nonce_reused");
  assert.deepEqual(await ordersOf("mine2.example"), []);
});

test("the nonce of a write with a final refusal is used", async () => {
  const nonce = newNonce();
  assertError(await register("taken-a.example", nonce), "domain_availability_taken");
  assertError(await register("taken-a.example", nonce), "authorization_nonce_reused");
});

test("the nonce of a 503 is free again: the identical header is served once the cause is gone", async () => {
  const nonce = newNonce();
  const setPause = (reason: string | null) =>
    runSql(gateway.databaseUrl, "UPDATE registries SET creates_paused_reason = $1", [reason]);
  await setPause("credit: none");
  for (let times = 0; times < 2; times++) assertError(await register("later.example", nonce), "service_unavailable");
  await setPause(null);
  assert.equal((await register("later.example", nonce)).status, 202);
  assert.equal((await ordersOf("later.example")).length, 1);
});

test("the nonce of a 429 is free: the identical header is served in the next window", async (t) => {
  const clock = createManualClock(1_900_000_000);
  const slow = await startTestGateway(t, { clock, worker: false });
  const limited = await slow.addReseller({ rateLimit: 1 });
  const options = { nonce: newNonce(), timestamp: 1_900_000_000 };
  assert.equal((await slow.send(limited, "GET", "/domains")).status, 200);
  for (let times = 0; times < 2; times++) {
    assertError(await slow.send(limited, "GET", "/domains", options), "rate_limit_exceeded");
  }
  clock.advance(60_000);
  assert.equal((await slow.send(limited, "GET", "/domains", options)).status, 200);
  clock.advance(60_000);
  assertError(await slow.send(limited, "GET", "/domains", options), "authorization_nonce_reused");
  // Once its timestamp has left the window, the timestamp is the error.
  clock.advance(240_000);
  assertError(await slow.send(limited, "GET", "/domains", options), "authorization_timestamp_invalid");
});

test("a write whose COMMIT was not answered gets 503, and its resend gets the order that it created", async (t) => {
  const lossy = await startTestGateway(t, { proxy: true });
  const caller = await lossy.addReseller();
  const nonce = newNonce();
  const timestamp = unixSeconds(lossy.context.clock);
  const send = (name: string) =>
    lossy.send(caller, "POST", "/domains/registrations", { ...registration(name, nonce), timestamp });
  const committed = lossy.proxy.holdNextCommitAnswer("orders-insert");
  const pending = send("lost.example");
  const early = pending.then(({ text }) => assert.fail(`answered before the COMMIT: ${text}`));
  await Promise.race([committed, early]);
  early.catch(() => {});
  lossy.proxy.cut();
  assertError(await pending, "service_unavailable");
  lossy.proxy.restore();

  let other = await send("other.example");
  while (other.status === 503) other = await send("other.example");
  assertError(other, "authorization_nonce_reused");
  const [order] = await runSql<{ order_code: string }>(lossy.databaseUrl, "SELECT order_code FROM orders");
  const resent = await send("lost.example");
  // The refused request used the nonce for good; the write's own resend still finds its answer.
  assert.equal(resent.status, 202, `${errorCode(resent)}`);
  assert.equal(resent.headers.location, `/domains/registrations/${order?.order_code}`);
});

test("after a restart that lost the used nonces, the refusal says when to sign again, and /readyz is 503 until then", async (t) => {
  const startSeconds = 1_900_000_000;
  const clock = createManualClock(startSeconds);
  const journalDir = await mkdtemp(join(tmpdir(), "deedhouse-nonces-"));
  const replayGuard = createReplayGuard({ journalDir, clock, log: gateway.context.log, windowSeconds: 300 });
  replayGuard.open(false);
  const forgetful = await startTestGateway(t, { clock, worker: false, server: { replayGuard } });
  t.after(async () => {
    replayGuard.close();
    await rm(journalDir, { recursive: true });
  });
  const known = await forgetful.addReseller();
  const readyz = () => fetch(`${forgetful.url}/readyz`);
  let early = await readyz();
  while (early.status === 503 && /waiting for the database/.test(await early.clone().text())) early = await readyz();
  assert.equal(early.status, 503);
  assert.match(await early.text(), /refusing every request for another 301 s: which nonces were used/);
  const refused = await forgetful.send(known, "GET", "/domains");
  const { error_text } = assertError(refused, "authorization_timestamp_invalid");
  const [, seconds] = /sign again in ([0-9]+) s\.$/.exec(error_text) ?? assert.fail(error_text);
  clock.advance(Number(seconds) * 1_000 - 1_000);
  assertError(await forgetful.send(known, "GET", "/domains"), "authorization_timestamp_invalid");
  assert.equal((await readyz()).status, 503);
  clock.advance(1_000);
  assert.equal((await readyz()).status, 200);
  assert.equal((await forgetful.send(known, "GET", "/domains")).status, 200);
});
