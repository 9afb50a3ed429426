import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertError, assertFullForm } from "../harness/assert-reply.ts";
import { startTestGateway, type TestReseller } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";

// POST /domains/registrations decides in a fixed order: each name here breaks two rules, and the first one answers.

const gateway = await startTestGateway({ after });
const { databaseUrl } = gateway;
const reseller = await gateway.addReseller();
const rival = await gateway.addReseller();
const incomplete = await gateway.addReseller({ profile: false });

const register = (domain_name: unknown, as: TestReseller = reseller, prefix = "") =>
  gateway.send(as, "POST", `${prefix}/domains/registrations`, { body: { domain_name } });
const block = (name: string) => runSql(databaseUrl, "INSERT INTO blocked_names VALUES ($1, '', now())", [name]);
const setPause = (reason: string | null) =>
  runSql(databaseUrl, "UPDATE registries SET creates_paused_reason = $1", [reason]);

async function finished(name: string, as: TestReseller = reseller): Promise<string> {
  const { status, headers, text } = await register(name, as);
  assert.equal(status, 202, text);
  const order = await gateway.settled(as, headers.location ?? "");
  assert.equal(order.status, "Finished");
  return headers.location ?? "";
}

/** An order whose state the registry does not change. */
async function pending(name: string, as: TestReseller = reseller): Promise<string> {
  const { status, headers, text } = await register(name, as);
  assert.equal(status, 202, text);
  return headers.location ?? "";
}

test("a malformed name is checked before the missing profile, the profile before the suffix and the block list", async () => {
  assertError(await register("-.example", incomplete), "bad_request");
  const nameOnly = assertError(await register("a.b.example", incomplete), "bad_request");
  assert.deepEqual(
    nameOnly.validation_errors?.map(({ field }) => field),
    ["domain_name"],
  );
  await block("before-blocked.example");
  for (const name of ["name.com", "before-blocked.example"]) {
    const { validation_errors } = assertError(await register(name, incomplete), "bad_request");
    assert.deepEqual(
      validation_errors?.map(({ field }) => field),
      ["profile"],
    );
  }
});

test("the block list is checked before the reseller's own live order and name", async () => {
  await pending("pending-never-blocked.example");
  await finished("later-blocked.example");
  for (const name of ["pending-never-blocked", "later-blocked"]) {
    await block(name);
    assertError(await register(`${name}.example`), "domain_availability_blocked");
  }
});

test("a repeat of a reseller's own live order gets 202 with the same location, in every spelling and under each prefix", async () => {
  const location = await pending("pending-never-live.example");
  for (const name of ["pending-never-live.example", "PENDING-NEVER-LIVE.EXAMPLE.", "ｐending-never-live。example"]) {
    const again = await register(name, reseller, "/v1");
    assertFullForm(again);
    assert.deepEqual([again.status, again.headers.location], [202, `/v1${location}`]);
    assert.match(again.headers["check-after"] ?? "", /^[1-9][0-9]*$/);
  }
  await setPause("credit: none");
  assert.equal((await register("pending-never-live.example")).headers.location, location);
  await setPause(null);
});

test("a reseller's own name is taken, with the location of its order and a text that says so", async () => {
  const location = await finished("own.example");
  const reply = await register("Own.Example", reseller, "/v1");
  const { error_text } = assertError(reply, "domain_availability_taken");
  assert.match(error_text, /you registered this name/);
  assert.equal(reply.headers.location, `/v1${location}`);
});

test("a name that finished in the last seven days and is gone still counts as the reseller's own, then it is free", async () => {
  const location = await finished("gone.example");
  await runSql(databaseUrl, "DELETE FROM domains WHERE domain_name = 'gone.example'");
  await gateway.registry.reset();
  const reply = await register("gone.example");
  assertError(reply, "domain_availability_taken");
  assert.equal(reply.headers.location, location);
  await runSql(
    databaseUrl,
    `UPDATE orders SET ended_at = ended_at - interval '7 days', created_at = created_at - interval '7 days'
     WHERE domain_name = 'gone.example'`,
  );
  await finished("gone.example");
});

test("another reseller's name and live order are taken, and nothing about them is revealed", async () => {
  await finished("rivals-name.example", rival);
  await pending("pending-never-rival.example", rival);
  await setPause("credit: none");
  const replies = [await register("rivals-name.example"), await register("pending-never-rival.example")];
  await setPause(null);
  for (const reply of replies) {
    const { error_text } = assertError(reply, "domain_availability_taken");
    assert.equal(reply.headers.location, undefined);
    assert.doesNotMatch(error_text, /you registered/);
  }
  assert.equal(replies[0]?.text, replies[1]?.text);
});

test("a registry that is down is reported before its answer about the name, with retry-after", async () => {
  await runSql(databaseUrl, "UPDATE registries SET circuit_open_until = now() + interval '100 seconds'");
  const open = await register("taken-down.example");
  assertError(open, "service_unavailable");
  assert.match(open.headers["retry-after"] ?? "", /^(9[0-9]|100)$/);
  await runSql(databaseUrl, "UPDATE registries SET circuit_open_until = now() - interval '1 second'");
  assertError(await register("taken-down.example"), "domain_availability_taken");

  await setPause("configuration: 2101");
  const paused = await register("taken-down.example");
  assertError(paused, "service_unavailable");
  assert.doesNotMatch(paused.text, /2101/);
  await setPause(null);
});

test("without an owner of the registry's sessions a registration is 503, and works again when there is one", async () => {
  await gateway.stopWorker();
  const reply = await register("nobody-there.example");
  assertError(reply, "service_unavailable");
  assert.equal((await runSql(databaseUrl, "SELECT FROM orders WHERE domain_name = 'nobody-there.example'")).length, 0);
  await gateway.startWorker();
  await finished("nobody-there.example");
});

test("the registry's answer: in use is taken; reserved, blocked and premium are blocked; silence is a lookup error", async () => {
  assertError(await register("taken-word.example"), "domain_availability_taken");
  for (const label of ["reserved", "blocked", "premium"]) {
    assertError(await register(`${label}-word.example`), "domain_availability_blocked");
  }
  gateway.registry.pause();
  assertError(await register("silent.example"), "domain_availability_lookuperror");
  gateway.registry.resume();
});

test("a registry that does not answer within the budget is a lookup error, and nothing is ordered", async (t) => {
  const hasty = await startTestGateway(t, { context: { checkBudgetMs: 200 } });
  const caller = await hasty.addReseller();
  const body = { domain_name: "slow-3000-a.example" };
  const reply = await hasty.send(caller, "POST", "/domains/registrations", { body });
  assertError(reply, "domain_availability_lookuperror");
  assert.deepEqual(await runSql(hasty.databaseUrl, "SELECT FROM orders"), []);
});
