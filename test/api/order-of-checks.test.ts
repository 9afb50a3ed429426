import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { after, test } from "node:test";
import { systemClock } from "#lib/clock.ts";
import { systemRandom } from "#lib/random.ts";
import { createSealer, type Sealer } from "#lib/sealed-secret.ts";
import { Secret } from "#lib/secret.ts";
import type { Scope } from "#use-case/use-case.ts";
import { assertError } from "../harness/assert-reply.ts";
import { masterKey, startTestGateway, type TestGateway, type TestReseller } from "../harness/gateway.ts";
import { createManualClock } from "../harness/manual-clock.ts";
import { newNonce, type Reply, type SignedRequestOptions } from "../harness/signed-request.ts";
import { runSql } from "../harness/sql.ts";

// Each request here breaks two rules or more; the answer must be that of the first check in the documented order.

const startSeconds = 1_900_000_000;
const clock = createManualClock(startSeconds);
const gateway = await startTestGateway({ after }, { clock, worker: false });

const get = (as: TestReseller, options?: SignedRequestOptions, target = "/domains") =>
  gateway.send(as, "GET", target, options);
const wrongSecret = (reseller: TestReseller): TestReseller => {
  const secret = Object.assign(Object.create(reseller.key.secret), { reveal: () => "0".repeat(64) });
  return { ...reseller, key: { ...reseller.key, secret } };
};
const unknown = (reseller: TestReseller): TestReseller => ({
  ...reseller,
  key: { ...reseller.key, id: "0123456789abcdef".repeat(2) },
});
const count = (reply: Reply) => Number(reply.headers["x-ratelimit-usage"]);

test("a missing or malformed header is checked first", async () => {
  const reseller = await gateway.addReseller();
  const { id } = reseller.key;
  for (const authorization of [
    null,
    "",
    "hmac",
    "Bearer x",
    `hmac ${id}:c2ln:nonce`,
    `hmac ${id}:c2ln:nonce:1900000000:x`,
    `hmac ${id.toUpperCase()}x:c2ln:nonce:1`,
    `hmac ${id}:c2ln:no nce:1900000000`,
    `hmac ${id}:c2ln::1900000000`,
    `hmac ${id}:c2ln:nonce:0900000000`,
    `hmac ${id}:c2ln:nonce:19000000000`,
    `hmac ${id}:c2ln:nonce:-900000000`,
    `hmac ${id}:c2ln:${"n".repeat(129)}:1900000000`,
    `hmac ${id.slice(1)}:c2ln:nonce:1900000000`,
  ]) {
    assertError(await get(reseller, { authorization }, "/nowhere"), "auth_authorization_header_invalid_format");
  }
});

test("a timestamp outside the window is checked before a wrong signature, and the answer states the skew", async () => {
  const reseller = await gateway.addReseller();
  for (const [skew, direction] of [
    [-301, "behind"],
    [301, "ahead"],
  ] as const) {
    const reply = await get(wrongSecret(reseller), { timestamp: startSeconds + skew });
    const { error_text } = assertError(reply, "authorization_timestamp_invalid");
    assert.ok(error_text.includes(clock.now().toISOString()) && error_text.includes(`301 s ${direction}`), error_text);
  }
  for (const skew of [-299, 300]) assert.equal((await get(reseller, { timestamp: startSeconds + skew })).status, 200);
});

test("a wrong signature is checked before the address, the nonce, the rate limit, the scope and the path", async () => {
  const reseller = await gateway.addReseller({ rateLimit: 1 });
  const bound = await gateway.addKey(reseller, { allowedAddresses: ["192.0.2.1"], scopes: [] });
  const nonce = newNonce();
  assert.equal((await get(reseller, { nonce })).status, 200);
  assertError(await get(wrongSecret(reseller), { nonce }), "authorization_hmac_invalid");
  assertError(await get(wrongSecret(bound), {}, "/nowhere"), "authorization_hmac_invalid");
});

test("a signature is wrong when anything that it covers has changed", async () => {
  const reseller = await gateway.addReseller();
  const wrong: [string, string, SignedRequestOptions][] = [
    ["GET", "/domains", { signedTarget: "/v1/domains" }],
    ["GET", "/domains?take=1", { signedTarget: "/domains?take=2" }],
    ["GET", "/domains?take=1", { signedTarget: "/domains" }],
    ["GET", "/domains", { signedMethod: "post" }],
    ["GET", "/domains/a%2Fb", { signedTarget: "/domains/a/b" }],
    ["GET", "/domains?take=1%26skip=1", { signedTarget: "/domains?take=1&skip=1" }],
  ];
  for (const [method, target, options] of wrong) {
    assertError(await gateway.send(reseller, method, target, options), "authorization_hmac_invalid");
  }
});

test("nothing can be moved between the fields of the string to sign", async () => {
  const reseller = await gateway.addReseller();
  const now = String(startSeconds);
  // Signed: GET /domains/a, then the timestamp, then the nonce. Sent: the same string, cut elsewhere.
  const signedAs = (target: string, timestamp: string, nonce: string) => {
    const text = `${reseller.key.id}get${encodeURIComponent(target)}${timestamp}${nonce}`;
    return createHmac("sha256", reseller.key.secret.reveal()).update(text).digest("base64");
  };
  const sendAs = (signature: string, target: string, timestamp: string, nonce: string) =>
    get(reseller, { authorization: `hmac ${reseller.key.id}:${signature}:${nonce}:${timestamp}` }, target);

  const shifted = [
    { target: "/domains/a", timestamp: now, nonce: "1nonce" },
    { target: "/domains/a1", timestamp: now, nonce: "nonce" },
  ];
  for (const [signed, sent] of [shifted, shifted.toReversed()] as [(typeof shifted)[0], (typeof shifted)[0]][]) {
    const signature = signedAs(signed.target, signed.timestamp, signed.nonce);
    const reply = await sendAs(signature, sent.target, sent.timestamp, sent.nonce);
    assertError(reply, "authorization_hmac_invalid");
  }
  // A name that ends in the time of day gives one string two readings: once one is served, the other is used.
  const signature = signedAs(`/domains/a-${now}`, now, "nonce");
  assertError(await sendAs(signature, `/domains/a-${now}`, now, "nonce"), "domain_not_valid");
  assertError(await sendAs(signature, "/domains/a-", now, `${now}nonce`), "authorization_nonce_reused");
});

test("a forbidden address is checked before a used nonce, and ranges are supported", async () => {
  const reseller = await gateway.addReseller();
  const elsewhere = await gateway.addKey(reseller, { allowedAddresses: ["192.0.2.0/24", "2001:db8::/32"] });
  const here = await gateway.addKey(reseller, { allowedAddresses: ["192.0.2.1", "127.0.0.0/8"] });
  const nonce = newNonce();
  for (let times = 0; times < 2; times++) {
    assertError(await get(elsewhere, { nonce }), "authorization_ip_not_allowed");
  }
  assert.equal((await get(here)).status, 200);
});

test("a used nonce is checked before the rate limit, the rate limit before the scope", async () => {
  const reseller = await gateway.addReseller({ rateLimit: 1 });
  const unscoped = await gateway.addKey(reseller, { scopes: ["hosting:read"] });
  const nonce = newNonce();
  assert.equal((await get(reseller, { nonce })).status, 200);
  assertError(await get(reseller, { nonce }), "authorization_nonce_reused");
  assertError(await get(unscoped), "rate_limit_exceeded");
  assertError(await get(reseller, {}, "/nowhere"), "rate_limit_exceeded");
});

test("the scope is checked before anything in the use case", async () => {
  const reseller = await gateway.addReseller({ kind: "plain", profile: false });
  const needed: [string, string, Scope][] = [
    ["GET", "/domains?take=0", "domains:read"],
    ["GET", "/domains/-", "domains:read"],
    ["POST", "/domains/registrations", "domains:register"],
    ["GET", "/domains/registrations/x", "domains:read"],
    ["GET", "/hostingaccounts?take=0", "hosting:read"],
    ["GET", "/hostingaccounts/x", "hosting:read"],
    ["POST", "/hostingaccounts", "hosting:create"],
    ["GET", "/servicepacks", "servicepacks:read"],
  ];
  const all = [...new Set(needed.map(([, , scope]) => scope))];
  for (const [method, target, scope] of needed) {
    const without = await gateway.addKey(reseller, { scopes: all.filter((other) => other !== scope) });
    const { error_text } = assertError(await gateway.send(without, method, target), "authorization_scope_missing");
    assert.ok(error_text.includes(scope), error_text);
    const withIt = await gateway.addKey(reseller, { scopes: [scope] });
    const reply = await gateway.send(withIt, method, target);
    assert.notEqual((reply.body as { error_code?: string }).error_code, "authorization_scope_missing");
  }
});

test("an unknown, a revoked and an expired key look the same as a wrong signature", async () => {
  const reseller = await gateway.addReseller();
  const expired = await gateway.addKey(reseller, { expiresAt: clock.now() });
  const revoked = await gateway.addKey(reseller);
  await runSql(gateway.databaseUrl, `UPDATE api_keys SET revoked_at = now() WHERE id = '${revoked.key.id}'`);
  const replies: Reply[] = [];
  for (const as of [wrongSecret(reseller), unknown(reseller), expired, revoked]) replies.push(await get(as));
  for (const reply of replies) {
    assertError(reply, "authorization_hmac_invalid");
    assert.equal(reply.text, replies[0]?.text);
    assert.deepEqual(Object.keys(reply.headers), Object.keys(replies[0]?.headers ?? {}));
  }
});

test("an unknown, revoked or expired key costs the same unsealing as a wrong signature", async (t) => {
  let opened = 0;
  const sealer = createSealer({ keys: [{ id: "1", key: new Secret(masterKey) }], random: systemRandom });
  const open: Sealer["open"] = (...sealed) => {
    opened += 1;
    return sealer.open(...sealed);
  };
  const observed = await startTestGateway(t, { worker: false, context: { sealer: { ...sealer, open } } });
  const reseller = await observed.addReseller();
  const cached = await observed.addKey(reseller);
  assert.equal((await observed.send(cached, "GET", "/domains")).status, 200);
  const expired = await observed.addKey(reseller, { expiresAt: systemClock.now() });
  const revoked = await observed.addKey(reseller);
  await runSql(observed.databaseUrl, `UPDATE api_keys SET revoked_at = now() WHERE id = '${revoked.key.id}'`);
  for (const as of [wrongSecret(reseller), wrongSecret(cached), unknown(reseller), expired, revoked]) {
    for (let times = 0; times < 2; times++) {
      const before = opened;
      assertError(await observed.send(as, "GET", "/domains"), "authorization_hmac_invalid");
      assert.equal(opened - before, 1);
    }
  }
});

test("a key expires exactly on time, also when it was used a moment ago", async () => {
  const reseller = await gateway.addReseller();
  const key = await gateway.addKey(reseller, { expiresAt: new Date(clock.now().getTime() + 1_000) });
  assert.equal((await get(key)).status, 200);
  clock.advance(1_000);
  assertError(await get(key), "authorization_hmac_invalid");
});

test("a 401 counts against the source address and shows its budget, a 403 and later errors against the reseller", async () => {
  const reseller = await gateway.addReseller({ rateLimit: 50 });
  const unscoped = await gateway.addKey(reseller, { scopes: ["hosting:read"] });
  const before = count(await get(reseller));
  const failures: Reply[] = [];
  for (let times = 0; times < 3; times++) failures.push(await get(wrongSecret(reseller)));
  assert.deepEqual(
    failures.map((reply) => count(reply) - count(failures[0] as Reply)),
    [0, 1, 2],
  );
  assert.equal(failures[0]?.headers["x-ratelimit-limit"], "1000");
  const forbidden = await get(unscoped);
  assertError(forbidden, "authorization_scope_missing");
  assert.equal(count(forbidden), before + 1);
  const missing = await get(reseller, {}, "/nowhere");
  assertError(missing, "resource_not_found");
  assert.equal(count(missing), before + 2);
  assert.equal(missing.headers["x-ratelimit-limit"], "50");
});

async function spendSource(spent: TestGateway, failuresMax: number) {
  for (let times = 0; times < failuresMax; times++) {
    const reply = await spent.send(stranger, "GET", "/domains", { authorization: null });
    assertError(reply, "auth_authorization_header_invalid_format");
  }
}
const stranger = unknown(await gateway.addReseller());

test("a source over its budget is refused before any signature, but a key that was good from it keeps its own budget", async (t) => {
  const failuresMax = 5;
  const own = createManualClock(startSeconds);
  const guarded = await startTestGateway(t, { clock: own, worker: false, server: { sourceFailuresMax: failuresMax } });
  const known = await guarded.addReseller();
  const newcomer = await guarded.addReseller();
  assert.equal((await guarded.send(known, "GET", "/domains")).status, 200);
  await spendSource(guarded, failuresMax);

  const refused = await guarded.send(newcomer, "GET", "/domains");
  assertError(refused, "rate_limit_exceeded");
  assert.equal(refused.statusMessage, "Too many requests, retry later.");
  assert.equal(refused.headers["retry-after"], refused.headers["x-ratelimit-reset"]);
  const late = await guarded.send(newcomer, "GET", "/domains", { timestamp: startSeconds - 999 });
  assertError(late, "authorization_timestamp_invalid");

  assert.equal((await guarded.send(known, "GET", "/domains")).status, 200);
  for (let times = 0; times < 10; times++) {
    assertError(await guarded.send(wrongSecret(known), "GET", "/domains"), "authorization_hmac_invalid");
  }
  assertError(await guarded.send(known, "GET", "/domains"), "rate_limit_exceeded");

  own.advance(60_000);
  assert.equal((await guarded.send(newcomer, "GET", "/domains")).status, 200);
});
