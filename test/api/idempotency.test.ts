import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertError } from "../harness/assert-reply.ts";
import { startTestGateway, type TestReseller } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";

const gateway = await startTestGateway({ after });
const reseller = await gateway.addReseller();
const pack = await gateway.addPack();
const replayed = "idempotency-replayed";

interface Options {
  as?: TestReseller;
  key?: string;
  target?: string;
}

const register = (name: string, { as = reseller, key = name, target = "/domains/registrations" }: Options = {}) =>
  gateway.send(as, "POST", target, { body: { domain_name: name }, headers: { "idempotency-key": key } });
const ordersOf = (name: string) =>
  runSql(gateway.databaseUrl, "SELECT order_code FROM orders WHERE domain_name = $1", [name]);
const setPause = (reason: string | null) =>
  runSql(gateway.databaseUrl, "UPDATE registries SET creates_paused_reason = $1", [reason]);

test("a repeat with the same body gets the same answer, marked as a replay, also after the order has ended", async () => {
  const first = await register("repeat.example");
  assert.equal(first.status, 202, first.text);
  assert.equal(first.headers[replayed], undefined);
  await gateway.settled(reseller, first.headers.location ?? "");
  for (let times = 0; times < 2; times++) {
    const again = await register("repeat.example");
    assert.deepEqual([again.status, again.headers.location], [202, first.headers.location]);
    assert.equal(again.headers[replayed], "true");
  }
});

test("the bare path and its /v1 form are the same path", async () => {
  const first = await register("prefix.example", { target: "/v1/domains/registrations" });
  const again = await register("prefix.example");
  assert.deepEqual([again.status, again.headers[replayed]], [202, "true"]);
  assert.equal(again.headers.location, first.headers.location);
});

test("another body under the key is 422 and does nothing", async () => {
  assert.equal((await register("one.example", { key: "k1" })).status, 202);
  assertError(await register("two.example", { key: "k1" }), "idempotency_key_reused");
  assert.deepEqual(await ordersOf("two.example"), []);
});

test("a final refusal is stored like a success", async () => {
  const first = await register("taken-x.example");
  assertError(first, "domain_availability_taken");
  const again = await register("taken-x.example");
  assert.equal(again.headers[replayed], "true");
  assert.deepEqual(again.body, first.body);
  assertError(await register("other.example", { key: "taken-x.example" }), "idempotency_key_reused");
});

test("a key belongs to its reseller and its path", async () => {
  const rival = await gateway.addReseller();
  assert.equal((await register("scoped-a.example", { key: "shared" })).status, 202);
  const others = await register("scoped-b.example", { key: "shared", as: rival });
  assert.deepEqual([others.status, others.headers[replayed]], [202, undefined]);
  const account = await createAccount("scoped.example", "shared");
  assert.deepEqual([account.status, account.headers[replayed]], [202, undefined]);
  const otherKey = await gateway.addKey(reseller);
  assert.equal((await register("scoped-a.example", { key: "shared", as: otherKey })).headers[replayed], "true");
});

test("of concurrent twins one is run, and all get its answer", async () => {
  const replies = await Promise.all(Array.from({ length: 8 }, () => register("twins.example")));
  assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([202]));
  assert.equal(new Set(replies.map(({ headers }) => headers.location)).size, 1);
  assert.equal(replies.filter(({ headers }) => headers[replayed] === "true").length, 7);
  assert.equal((await ordersOf("twins.example")).length, 1);
});

test("a repeat that has waited too long for the first gets idempotency_in_progress", async (t) => {
  const hasty = await startTestGateway(t, { server: { idempotencyWaitMs: 100 } });
  const caller = await hasty.addReseller();
  const send = () =>
    hasty.send(caller, "POST", "/domains/registrations", {
      body: { domain_name: "slow-1500-a.example" },
      headers: { "idempotency-key": "slow" },
    });
  const [first, second] = await Promise.all([send(), send()]);
  const [accepted, early] = first.status === 202 ? [first, second] : [second, first];
  assertError(early, "idempotency_in_progress");
  assert.equal(early.headers["retry-after"], "1");
  assert.equal(accepted.status, 202);
  const late = await send();
  assert.deepEqual([late.headers.location, late.headers[replayed]], [accepted.headers.location, "true"]);
});

test("a 503 is not stored: the repeat is a new attempt", async () => {
  await setPause("credit: none");
  assertError(await register("unavailable.example"), "service_unavailable");
  await setPause(null);
  const again = await register("unavailable.example");
  assert.deepEqual([again.status, again.headers[replayed]], [202, undefined]);
});

test("a 401, a 403 for the scope and a 429 are not stored", async () => {
  const limited = await gateway.addReseller({ rateLimit: 3 });
  const unscoped = await gateway.addKey(limited, { scopes: [] });
  const name = "not-kept.example";
  const refused = await gateway.send(limited, "POST", "/domains/registrations", {
    body: { domain_name: name },
    headers: { "idempotency-key": name },
    signedMethod: "put",
  });
  assertError(refused, "authorization_hmac_invalid");
  assertError(await register(name, { as: unscoped }), "authorization_scope_missing");
  const made = await register(name, { as: limited });
  assert.deepEqual([made.status, made.headers[replayed]], [202, undefined]);
  assert.equal((await register(name, { as: limited })).headers[replayed], "true");
  assertError(await register(name, { as: limited }), "rate_limit_exceeded");
});

test("a key that is not valid gets bad_request from every write, also from one without a body", async () => {
  for (const [method, target] of [
    ["DELETE", "/hostingaccounts/nobodys.example"],
    ["POST", "/domains/nobodys.example/auth-code"],
  ] as const) {
    const reply = await gateway.send(reseller, method, target, { headers: { "idempotency-key": "" } });
    assert.equal(assertError(reply, "bad_request").validation_errors?.[0]?.field, "idempotency-key");
  }
});

test("a key has 1 to 255 characters", async () => {
  const longest = await register("longest.example", { key: "k".repeat(255) });
  assert.equal(longest.status, 202, longest.text);
  for (const key of ["k".repeat(256), ""]) {
    const { validation_errors } = assertError(await register("longer.example", { key }), "bad_request");
    assert.deepEqual(
      validation_errors?.map(({ field }) => field),
      ["idempotency-key"],
    );
  }
  assert.deepEqual(await ordersOf("longer.example"), []);
});

test("a key expires after seven days", async () => {
  assert.equal((await register("old.example")).status, 202);
  await runSql(
    gateway.databaseUrl,
    "UPDATE idempotent_requests SET created_at = created_at - interval '7 days' WHERE idempotency_key = 'old.example'",
  );
  const next = await register("new.example", { key: "old.example" });
  assert.deepEqual([next.status, next.headers[replayed]], [202, undefined]);
  assert.equal((await register("new.example", { key: "old.example" })).headers[replayed], "true");
});

test("the database contains no body of a request, and no digest that could be guessed", async () => {
  await createAccount("kept.example", "kept", "a password of my own");
  const dump = JSON.stringify(await runSql(gateway.databaseUrl, "SELECT * FROM idempotent_requests"));
  assert.ok(!dump.includes("a password of my own"));
});

const createAccount = (identifier: string, key: string, password = "correct horse battery") =>
  gateway.send(reseller, "POST", "/hostingaccounts", {
    body: { servicepack_id: pack, identifier, password },
    headers: { "idempotency-key": key },
  });

test("hosting accounts: a repeat gets the 202 again, twins too, another password is 422", async () => {
  const twins = await Promise.all(Array.from({ length: 5 }, () => createAccount("site.example", "h1")));
  for (const { status, headers } of twins) {
    assert.deepEqual([status, headers.location], [202, "/hostingaccounts/site.example"]);
  }
  assertError(await createAccount("site.example", "h1", "another password"), "idempotency_key_reused");
  assertError(await createAccount("site.example", "h2"), "hosting_already_exist");
});
