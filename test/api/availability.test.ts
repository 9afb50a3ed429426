import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertError, assertFullForm } from "../harness/assert-reply.ts";
import { startTestGateway, type TestGateway, type TestReseller } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";

const gateway = await startTestGateway({ after }, { registry: { premium: { amountMax: 1_000, currency: "EUR" } } });
const reseller = await gateway.addReseller();
const rival = await gateway.addReseller();
await runSql(gateway.databaseUrl, "INSERT INTO blocked_names VALUES ('listed', '', now())");

interface Named {
  domain_name: string;
  availability: string;
  premium?: { amount: string; currency: string };
  reason?: string;
}

const ask = (names: string[], as: TestReseller = reseller, at: TestGateway = gateway) =>
  at.send(as, "GET", `/v1/domains/availability?names=${encodeURIComponent(names.join(","))}`);
const checksOf = (name: string, at: TestGateway = gateway) =>
  at.registry.store.journal.entries({ name, command: "domain:check" });
const register = (domain_name: string, as: TestReseller) =>
  gateway.send(as, "POST", "/domains/registrations", { body: { domain_name } });

test("each name has an answer, in the order asked", async () => {
  const names = ["free.example", "taken-a.example", "Reserved-A.example", "listed.example", "name.com", "münchen.com"];
  const reply = await ask(names);
  assert.equal(reply.status, 200, reply.text);
  assertFullForm(reply);
  const reasons = (reply.body as Named[]).map(({ domain_name, availability, reason }) => [
    domain_name,
    availability,
    reason,
  ]);
  assert.deepEqual(reasons, [
    ["free.example", "available", undefined],
    ["taken-a.example", "taken", undefined],
    ["reserved-a.example", "blocked", "The registry does not offer this name (reserved, blocked or premium)."],
    ["listed.example", "blocked", "This name is blocked here."],
    ["name.com", "blocked", "This suffix is not on offer here."],
    ["xn--mnchen-3ya.com", "blocked", "This suffix is not on offer here."],
  ]);
});

test("a premium name that can be registered has its price", async () => {
  const [premium] = (await ask(["premium-a.example"])).body as Named[];
  assert.equal(premium?.availability, "available");
  assert.match(premium?.premium?.amount ?? "", /^[0-9]+(\.[0-9]+)?$/);
  assert.equal(premium?.premium?.currency, "EUR");
});

test("a name whose renewals or restore alone have a price of their own is registered at the usual price", async () => {
  for (const name of ["renew-premium-a.example", "restore-premium-a.example"]) {
    assert.deepEqual((await ask([name])).body, [{ domain_name: name, availability: "available" }]);
    const body = { domain_name: name, dry_run: true };
    const reply = await gateway.send(reseller, "POST", "/domains/registrations", { body });
    assert.equal((reply.body as { price?: object }).price, undefined, reply.text);
  }
});

test("a name that is asked twice has two answers, and the registry is asked once", async () => {
  const answers = (await ask(["twice.example", "once.example", "TWICE.example."])).body as Named[];
  assert.deepEqual(
    answers.map(({ domain_name }) => domain_name),
    ["twice.example", "once.example", "twice.example"],
  );
  assert.deepEqual(answers[0], answers[2]);
  assert.equal(checksOf("twice.example").filter(({ direction }) => direction === "in").length, 1);
});

test("own names are taken and say so; another reseller's look like those of other registrars", async () => {
  const own = await register("own.example", reseller);
  await gateway.settled(reseller, own.headers.location!);
  await register("pending-never-own.example", reseller);
  const others = await register("theirs.example", rival);
  await gateway.settled(rival, others.headers.location!);
  await register("pending-never-theirs.example", rival);
  const reply = await ask([
    "own.example",
    "pending-never-own.example",
    "theirs.example",
    "pending-never-theirs.example",
    "taken-a.example",
  ]);
  assert.deepEqual(reply.body, [
    { domain_name: "own.example", availability: "taken", reason: "You registered this name." },
    { domain_name: "pending-never-own.example", availability: "taken", reason: "You have ordered this name." },
    { domain_name: "theirs.example", availability: "taken" },
    { domain_name: "pending-never-theirs.example", availability: "taken" },
    { domain_name: "taken-a.example", availability: "taken" },
  ]);
});

test("each name counts as a request; if they exceed the rate limit, nothing is asked or counted", async () => {
  const limited = await gateway.addReseller({ rateLimit: 6 });
  const usage = ({ headers }: { headers: Record<string, string | undefined> }) => headers["x-ratelimit-usage"];
  assert.equal(usage(await ask(["a.example", "b.example", "c.example"], limited)), "3");
  const refused = await ask(["d1.example", "d2.example", "d3.example", "d4.example"], limited);
  assertError(refused, "rate_limit_exceeded");
  assert.match(refused.headers["retry-after"] ?? "", /^[1-9][0-9]*$/);
  assert.deepEqual(checksOf("d1.example"), []);
  assert.equal(usage(refused), "4", "the refused request itself counts");
  assert.equal(usage(await ask(["e.example", "f.example"], limited)), "6");
});

test("a registry that does not answer in time leaves the name unknown, and the others are answered", async (t) => {
  const second = { id: "second", suffixes: ["second"] };
  const hasty = await startTestGateway(t, { moreRegistries: [second], context: { checkBudgetMs: 100 } });
  const caller = await hasty.addReseller();
  hasty.registry.pause();
  const reply = await ask(["silent.example", "heard.second"], caller, hasty);
  hasty.registry.resume();
  assert.deepEqual(reply.body, [
    {
      domain_name: "silent.example",
      availability: "unknown",
      reason: "The registry did not answer in time; ask again later, or for fewer names.",
    },
    { domain_name: "heard.second", availability: "available" },
  ]);
});

test("a registry that is down or being maintained, or whose sessions nobody owns, is not asked", async (t) => {
  const set = (assignments: string) => runSql(gateway.databaseUrl, `UPDATE registries SET ${assignments}`);
  const unknown = async (as = reseller, at = gateway) => {
    const [answer] = (await ask(["unasked.example"], as, at)).body as Named[];
    assert.equal(answer?.availability, "unknown");
    return answer.reason;
  };
  const unavailable = "The registry of this suffix is unavailable; ask again later.";
  await set("circuit_open_until = now() + interval '1 minute'");
  assert.equal(await unknown(), unavailable);
  await set("maintenance_from = now() - interval '1 minute', maintenance_until = now() + interval '1 minute'");
  assert.equal(await unknown(), "The registry of this suffix is being maintained; ask again later.");
  await set("circuit_open_until = NULL, maintenance_from = NULL, maintenance_until = NULL");
  const ownerless = await startTestGateway(t, { worker: false });
  assert.equal(await unknown(await ownerless.addReseller(), ownerless), unavailable);
  assert.deepEqual([...checksOf("unasked.example"), ...checksOf("unasked.example", ownerless)], []);
});

test("a name can be asked about while registrations are paused", async () => {
  const set = (reason: string) =>
    runSql(gateway.databaseUrl, `UPDATE registries SET creates_paused_reason = ${reason}`);
  await set("'credit: none left'");
  const reply = await ask(["paused.example"]);
  await set("NULL");
  assert.deepEqual(reply.body, [{ domain_name: "paused.example", availability: "available" }]);
});
