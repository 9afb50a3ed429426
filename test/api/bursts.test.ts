import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { type TestContext, test } from "node:test";
import { Client } from "pg";
import { unixSeconds } from "#lib/clock.ts";
import { sourceSharesDefault } from "#lib/net/connection-limits.ts";
import { assertError } from "../harness/assert-reply.ts";
import { startTestGateway, type TestGateway, type TestReseller } from "../harness/gateway.ts";
import { newNonce, type Reply, type SignedRequestOptions } from "../harness/signed-request.ts";
import { untilHeldUp } from "../harness/sql.ts";

// Concurrent requests: the effect of one must count for the next.

/** Fewer than one address's connection limit. */
const burstCount = 240;
/** For a key that was good from the address recently. */
const knownGoodFailuresMax = 10;

/** On a busy machine, connections wait for their first request to be read. */
const shares = { ...sourceSharesDefault, sourceHalfOpenMax: burstCount };

const startWith = (t: TestContext, sourceFailuresMax: number) =>
  startTestGateway(t, { worker: false, server: { sourceFailuresMax, shares } });

function wrongSignature(gateway: TestGateway, keyId: string): SignedRequestOptions {
  const signature = createHmac("sha256", "wrong").update(newNonce()).digest("base64");
  return { authorization: `hmac ${keyId}:${signature}:${newNonce()}:${unixSeconds(gateway.context.clock)}` };
}

function wrongMessageSignature(gateway: TestGateway, keyId: string): SignedRequestOptions {
  const created = unixSeconds(gateway.context.clock);
  const params = `("@method" "@path" "@query");created=${created};keyid="${keyId}";nonce="${newNonce()}"`;
  const signature = createHmac("sha256", "wrong").update(newNonce()).digest("base64");
  return { authorization: null, headers: { "signature-input": `a=${params}`, signature: `a=:${signature}:` } };
}

/** An unknown key, different each time. */
const unknown = (reseller: TestReseller) => ({ ...reseller, key: { ...reseller.key, id: newNonce() } });
const statuses = (replies: Reply[]) =>
  Object.fromEntries([...Map.groupBy(replies, ({ status }) => status)].map(([status, { length }]) => [status, length]));

/** Sends all while no key can be read, so that the requests that need one meet. */
async function sendTogether(gateway: TestGateway, request: () => Promise<Reply>): Promise<Reply[]> {
  const lock = new Client({ connectionString: gateway.databaseUrl });
  await lock.connect();
  await lock.query("BEGIN; LOCK TABLE api_keys, committed_requests");
  const replies = Array.from({ length: burstCount }, request);
  await untilHeldUp(gateway.databaseUrl);
  await lock.end();
  return Promise.all(replies);
}

for (const [scheme, wrong] of Object.entries({ hmac: wrongSignature, "RFC 9421": wrongMessageSignature })) {
  test(`verifies no more signatures of a burst than its source has failures left (${scheme})`, async (t) => {
    const failuresMax = 20;
    const gateway = await startWith(t, failuresMax);
    const known = await gateway.addReseller();
    const cached = await gateway.addReseller();
    assert.equal((await gateway.send(cached, "GET", "/domains")).status, 200);
    for (const [index, as] of [known, cached, unknown(known)].entries()) {
      const localAddress = `127.0.0.${10 + index}`;
      const replies = await sendTogether(gateway, () =>
        gateway.send(as, "GET", "/domains", { ...wrong(gateway, as.key.id), localAddress }),
      );
      assert.deepEqual(statuses(replies), { 401: failuresMax, 429: burstCount - failuresMax });
    }
  });
}

test("serves many first requests with good keys from one address at the same moment, also after a start", async (t) => {
  const [firstCount, failuresMaxDefault] = [150, 100];
  const gateway = await startWith(t, failuresMaxDefault);
  const reseller = await gateway.addReseller();
  const keys = await Promise.all(Array.from({ length: firstCount }, () => gateway.addKey(reseller)));
  const sendAll = () => Promise.all(keys.map((as) => gateway.send(as, "GET", "/domains")));
  assert.deepEqual(statuses(await sendAll()), { 200: firstCount });
  await gateway.restartApi();
  assert.deepEqual(statuses(await sendAll()), { 200: firstCount });
});

test("counts each repeat in a burst before it looks up the next", async (t) => {
  const failuresMax = 20;
  const gateway = await startWith(t, failuresMax);
  const reseller = await gateway.addReseller();
  const repeated = { nonce: newNonce(), timestamp: unixSeconds(gateway.context.clock) };
  assert.equal((await gateway.send(reseller, "GET", "/domains", repeated)).status, 200);
  const localAddress = "127.0.0.9";
  const replies = await sendTogether(gateway, () =>
    gateway.send(reseller, "GET", "/domains", { ...repeated, localAddress }),
  );
  const refused = replies.filter(({ status }) => status === 401);
  for (const reply of refused) assertError(reply, "authorization_nonce_reused");
  assert.equal(refused.length, failuresMax + knownGoodFailuresMax);
});
