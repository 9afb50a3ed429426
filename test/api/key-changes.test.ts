import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "#lib/clock.ts";
import { changeRateLimit } from "#resellers/create.ts";
import { changeKeyScopes, createKey, revokeKey } from "#resellers/keys.ts";
import { scopes } from "#use-case/use-case.ts";
import { startApiProcess } from "../harness/api-process.ts";
import { assertError } from "../harness/assert-reply.ts";
import { startTestGateway, type TestGateway, type TestReseller } from "../harness/gateway.ts";
import { sendSigned } from "../harness/signed-request.ts";
import { endSessions, runSql } from "../harness/sql.ts";

/** Every process knows a change within this time. */
const changeKnownMs = 1_000;

/** Sends until the answer is a 401, and returns how long that took. */
async function untilRefused(gateway: TestGateway, reseller: TestReseller, url = gateway.url): Promise<number> {
  const startMs = systemClock.monotonicMs();
  for (;;) {
    const sentMs = systemClock.monotonicMs();
    const { clock } = gateway.context;
    const reply = await sendSigned({ url, key: reseller.key, clock, method: "GET", target: "/domains" });
    if (reply.status === 200 && sentMs - startMs <= changeKnownMs) continue;
    assertError(reply, "authorization_hmac_invalid");
    return sentMs - startMs;
  }
}

test("a revoked key is refused within a second, also by an api process that did not revoke it", async (t) => {
  const gateway = await startTestGateway(t, { worker: false });
  const api = await startApiProcess(t, gateway);
  const reseller = await gateway.addReseller();
  for (const url of [gateway.url, api.url]) {
    const warm = { url, key: reseller.key, clock: gateway.context.clock, method: "GET", target: "/domains" };
    assert.equal((await sendSigned(warm)).status, 200);
  }
  assert.equal(await revokeKey(gateway.context, reseller.key.id), true);
  await untilRefused(gateway, reseller, api.url);
  await untilRefused(gateway, reseller);
});

test("while the LISTEN connection is down no cached key is trusted: a revocation takes effect at once", async (t) => {
  const gateway = await startTestGateway(t, { worker: false, proxy: true });
  const reseller = await gateway.addReseller();
  for (let times = 0; times < 3; times++) assert.equal((await gateway.send(reseller, "GET", "/domains")).status, 200);
  // Ends the session of this name whenever it reconnects, so that no notification arrives.
  const endListener = () => endSessions(gateway.databaseUrl, "deedhouse-listener");
  await endListener();
  while (gateway.context.listener.aliveAsOf() !== undefined) await endListener();
  await runSql(gateway.databaseUrl, "UPDATE api_keys SET revoked_at = now() WHERE id = $1", [reseller.key.id]);
  await endListener();
  assertError(await gateway.send(reseller, "GET", "/domains"), "authorization_hmac_invalid");
});

test("a new rate limit takes effect within a second", async (t) => {
  const gateway = await startTestGateway(t, { worker: false });
  const reseller = await gateway.addReseller({ rateLimit: 7 });
  const get = () => gateway.send(reseller, "GET", "/domains");
  assert.equal((await get()).headers["x-ratelimit-limit"], "7");
  await changeRateLimit(gateway.context, reseller.id, 9);
  const startMs = systemClock.monotonicMs();
  for (let sentMs = startMs, limit = "7"; limit !== "9"; sentMs = systemClock.monotonicMs()) {
    limit = (await get()).headers["x-ratelimit-limit"] ?? "";
    assert.ok(limit === "9" || sentMs - startMs <= changeKnownMs);
  }
});

test("a key that was created without scopes can neither delete a name nor give it away", async (t) => {
  const gateway = await startTestGateway(t, { worker: false });
  const reseller = await gateway.addReseller();
  const { id } = await createKey(gateway.context, reseller.id, { label: "plain" });
  const [key] = await runSql<{ scopes: string[] }>(gateway.databaseUrl, "SELECT scopes FROM api_keys WHERE id = $1", [
    id,
  ]);
  const missing = scopes.filter((scope) => !key?.scopes.includes(scope));
  assert.deepEqual(missing, ["domains:delete", "domains:transfer"]);
});

test("added and removed scopes take effect within a second, also in an api process that did not change them", async (t) => {
  const gateway = await startTestGateway(t, { worker: false });
  const api = await startApiProcess(t, gateway);
  const reseller = await gateway.addReseller();
  const caller = await gateway.addKey(reseller, { scopes: ["domains:read"] });
  const { clock } = gateway.context;
  const target = "/domains/nobodys.example/auth-code";
  const answerOf = async (url: string) =>
    (await sendSigned({ url, key: caller.key, clock, method: "GET", target })).status;
  const untilAnswered = async (url: string, status: number) => {
    const startMs = systemClock.monotonicMs();
    for (;;) {
      const sentMs = systemClock.monotonicMs();
      const answered = await answerOf(url);
      if (answered === status) return;
      assert.ok(sentMs - startMs <= changeKnownMs, `${url} still answers ${answered}`);
    }
  };
  for (const url of [gateway.url, api.url]) assert.equal(await answerOf(url), 403);
  const added = await changeKeyScopes(gateway.context, caller.key.id, {
    add: ["domains:transfer", "domains:read"],
    remove: ["hosting:read"],
  });
  assert.deepEqual(added, ["domains:read", "domains:transfer"]);
  for (const url of [gateway.url, api.url]) await untilAnswered(url, 404);
  await changeKeyScopes(gateway.context, caller.key.id, { add: [], remove: ["domains:transfer"] });
  for (const url of [gateway.url, api.url]) await untilAnswered(url, 403);
  await revokeKey(gateway.context, caller.key.id);
  assert.equal(await changeKeyScopes(gateway.context, caller.key.id, { add: ["domains:read"], remove: [] }), undefined);
});
