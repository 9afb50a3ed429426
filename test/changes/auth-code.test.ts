import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { pino } from "pino";
import { transferFrame } from "../../sandbox/registry/test/frames.ts";
import { RawClient } from "../../sandbox/registry/test/raw-client.ts";
import { assertError } from "../harness/assert-reply.ts";
import type { GatewayOptions } from "../harness/gateway.ts";
import { dumpDatabase, runSql } from "../harness/sql.ts";
import { createSteeredClock } from "../harness/steered-clock.ts";
import { until } from "../orders/judge.ts";
import { change, order, own, received, type Stage, startStage } from "./stage.ts";

const name = "leaving.example";
const target = `/domains/${name}/auth-code`;
/** Spent codes are replaced at once. */
const quick = { renewalIntervalMs: 50 };

interface ReadCode {
  domain_name: string;
  auth_code: string;
  expires_at: string;
}

async function readCode({ gateway, reseller }: Stage): Promise<ReadCode> {
  const reply = await gateway.send(reseller, "GET", target);
  assert.equal(reply.status, 200, reply.text);
  return reply.body as ReadCode;
}

const registrysCode = ({ gateway }: Stage) => gateway.registry.store.domains.find(name)?.authInfo;

/** A stage whose clock the test moves. */
async function startSteered(t: TestContext, options: GatewayOptions = {}) {
  const clock = createSteeredClock();
  const registry = { ...quick, ...options.registry };
  return { clock, stage: await startStage(t, [name], { ...options, clock, registry }) };
}

test("with the code that its holder has ordered, another registrar can request a name's transfer", async (t) => {
  const stage = await startStage(t, [name]);
  const { gateway, reseller } = stage;
  assertError(await gateway.send(reseller, "GET", target), "auth_code_not_found");
  const placed = await order(stage, "POST", target);
  assert.equal((await gateway.settled(reseller, placed)).status, "Finished");
  const { auth_code: code, domain_name, expires_at } = await readCode(stage);
  assert.equal(domain_name, name);
  assert.equal(registrysCode(stage), code);
  const [row] = await runSql<{ ended_at: Date }>(gateway.databaseUrl, "SELECT ended_at FROM orders");
  assert.equal(Date.parse(expires_at) - row!.ended_at.getTime(), 336 * 3_600_000);
  const gainer = await RawClient.login(gateway.registry, "rival", "rival-pw-1");
  t.after(() => gainer.close());
  assert.equal((await gainer.ask(transferFrame("request", name, "guess"))).code, 2202);
  assert.equal((await gainer.ask(transferFrame("request", name, code))).code, 1001);
});

test("a code expires: it cannot be read any more, and the registry gets a value that nobody has", async (t) => {
  const { stage, clock } = await startSteered(t);
  await change(stage, "POST", target);
  const { auth_code: code } = await readCode(stage);
  clock.skip(335);
  assert.equal((await readCode(stage)).auth_code, code);
  clock.skip(2);
  assertError(await stage.gateway.send(stage.reseller, "GET", target), "auth_code_not_found");
  await until("the registry has another code", () => registrysCode(stage) !== code);
  const rows = () => runSql(stage.gateway.databaseUrl, "SELECT FROM auth_codes");
  await until("the spent code is forgotten", async () => (await rows()).length === 0);
  assert.notEqual(registrysCode(stage), "");
  assert.equal(received(stage, name, "domain:update").length, 2);
});

test("where the registry allows it, a spent code is removed", async (t) => {
  const { stage, clock } = await startSteered(t, { registry: { spentAuthInfo: "removed" } });
  await change(stage, "POST", target);
  clock.skip(337);
  await until("the registry has no code", () => registrysCode(stage) === "");
});

test("each order sets a code of its own, and the newest one is read", async (t) => {
  const stage = await startStage(t, [name]);
  const { gateway, reseller } = stage;
  const hold = gateway.registry.hold({ command: "domain:update", name, at: "before-execution" });
  const [first, second] = [await order(stage, "POST", target), await order(stage, "POST", target)];
  await hold.reached(1);
  hold.release();
  assert.equal((await gateway.settled(reseller, first)).status, "Finished");
  const before = (await gateway.send(reseller, "GET", target)).text;
  assert.equal((await gateway.settled(reseller, second)).status, "Finished");
  assert.notEqual((await gateway.send(reseller, "GET", target)).text, before);
  assert.equal((await readCode(stage)).auth_code, registrysCode(stage));
});

test("a code that is ordered while an earlier one ends is not replaced with it", async (t) => {
  const { stage, clock } = await startSteered(t);
  const { gateway, reseller } = stage;
  await change(stage, "POST", target);
  const hold = gateway.registry.hold({ command: "domain:update", name, at: "before-execution" });
  const placed = await order(stage, "POST", target);
  await hold.reached(1);
  clock.skip(337);
  const erased = "SELECT FROM auth_codes WHERE code_sealed IS NULL";
  await until("the first one is spent", async () => (await runSql(gateway.databaseUrl, erased)).length === 1);
  hold.release();
  assert.equal((await gateway.settled(reseller, placed)).status, "Finished");
  assert.equal((await readCode(stage)).auth_code, registrysCode(stage));
  const replacements = "SELECT FROM orders WHERE input ? 'replaces'";
  assert.deepEqual(await runSql(gateway.databaseUrl, replacements), []);
});

test("the order that replaces a spent code leaves a newer one as it is", async (t) => {
  const { stage, clock } = await startSteered(t, { registry: { ...quick, backoffFirstMs: 200 } });
  const { gateway, reseller } = stage;
  await change(stage, "POST", target);
  const placed = "SELECT order_code FROM orders WHERE input ? 'replaces'";
  // While the registry cannot be reached, both orders are placed.
  await gateway.registry.pause();
  clock.skip(337);
  await until("it is to be replaced", async () => (await runSql(gateway.databaseUrl, placed)).length === 1);
  const newer = await order(stage, "POST", target);
  await runSql(
    gateway.databaseUrl,
    "UPDATE orders SET next_step_at = next_step_at + interval '1 hour' WHERE input ? 'replaces'",
  );
  await gateway.registry.resume();
  assert.equal((await gateway.settled(reseller, newer)).status, "Finished");
  const [replacement] = await runSql<{ order_code: string }>(gateway.databaseUrl, placed);
  assert.equal((await gateway.settled(reseller, `/orders/${replacement!.order_code}`)).status, "Cancelled");
  assert.equal((await readCode(stage)).auth_code, registrysCode(stage));
});

test("after a lost answer the same code is set again, until the registry has it", async (t) => {
  const stage = await startStage(t, [name]);
  const { gateway, reseller } = stage;
  const hold = gateway.registry.hold({ command: "domain:update", name, at: "before-execution" });
  const placed = await order(stage, "POST", target);
  await hold.abandoned(1);
  assertError(await gateway.send(reseller, "GET", target), "auth_code_not_found");
  hold.release({ execute: false });
  assert.equal((await gateway.settled(reseller, placed)).status, "Finished");
  assert.equal((await readCode(stage)).auth_code, registrysCode(stage));
  assert.equal(received(stage, name, "domain:update").length, 2);
});

test("no code is issued that would not help: for a locked or fresh name, or where the registry issues codes itself", async (t) => {
  const stage = await startStage(t, [name], {
    moreRegistries: [
      { id: "young", suffixes: ["young"], profile: { transferProhibitedDays: 60 } },
      { id: "mailing", suffixes: ["mailing"], profile: { authInfo: "registry" } },
      { id: "open", suffixes: ["open"], profile: { authInfo: "none" } },
    ],
  });
  const { gateway, reseller } = stage;
  const refusal = async (of: string) => gateway.send(reseller, "POST", `/domains/${of}/auth-code`);
  await change(stage, "PUT", `/domains/${name}/transfer-lock`, { transfer_locked: true });
  assertError(await refusal(name), "domain_locked");
  for (const other of ["a.young", "a.mailing", "a.open"]) await own(stage, other);
  const [young] = await runSql<{ registration_date: Date }>(
    gateway.databaseUrl,
    "SELECT registration_date FROM domains WHERE domain_name = 'a.young'",
  );
  const allowed = new Date(young!.registration_date.getTime() + 60 * 24 * 3_600_000).toISOString();
  const tooYoung = assertError(await refusal("a.young"), "domain_transfer_prohibited");
  assert.ok(tooYoung.error_text.includes(allowed), tooYoung.error_text);
  assert.match(assertError(await refusal("a.mailing"), "auth_code_not_issued").error_text, /registrant/);
  assert.match(assertError(await refusal("a.open"), "auth_code_not_issued").error_text, /without one/);
  assert.equal((await runSql(gateway.databaseUrl, "SELECT FROM orders WHERE kind = 'auth-code'")).length, 0);
});

test("a code is nowhere in clear: not in the database, orders, stored answers, logs, notifications or the registry's journal", async (t) => {
  const lines: string[] = [];
  const log = pino({ level: "trace" }, { write: (line: string) => lines.push(line) });
  const stage = await startStage(t, [name], { context: { log } });
  const { gateway, reseller } = stage;
  const headers = { "idempotency-key": "once", prefer: "wait=20" };
  const answers = [(await gateway.send(reseller, "POST", target, { headers })).text];
  answers.push((await gateway.send(reseller, "POST", target, { headers })).text);
  const { auth_code: code } = await readCode(stage);
  const placed = await runSql<{ order_code: string }>(gateway.databaseUrl, "SELECT order_code FROM orders");
  assert.equal(placed.length, 1);
  answers.push((await gateway.send(reseller, "GET", `/orders/${placed[0]!.order_code}`)).text);
  answers.push((await gateway.send(reseller, "GET", `/domains/${name}`)).text);
  const journal = JSON.stringify(gateway.registry.store.journal.entries({ name }));
  const places = {
    answers: answers.join(),
    log: lines.join(),
    journal,
    database: await dumpDatabase(gateway.databaseUrl),
  };
  for (const [place, text] of Object.entries(places)) {
    for (const form of ["utf8", "hex", "base64"] as const) {
      const written = Buffer.from(code).toString(form).replace(/=+$/, "");
      assert.ok(text.length > 0 && !text.includes(written), `${place}, as ${form}`);
    }
  }
  const kept = "SELECT FROM orders WHERE secret_sealed IS NOT NULL";
  assert.deepEqual(await runSql(gateway.databaseUrl, kept), [], "the order's copy is erased at its end");
});

test("a code goes with the name: its next holder cannot read it, nor can another reseller", async (t) => {
  const stage = await startStage(t, [name]);
  const { gateway } = stage;
  await change(stage, "POST", target);
  const other = await gateway.addReseller();
  assertError(await gateway.send(other, "GET", target), "domain_not_found");
  assertError(await gateway.send(other, "POST", target), "domain_not_found");
  const unscoped = await gateway.addKey(stage.reseller, { scopes: ["domains:read", "domains:update"] });
  assertError(await gateway.send(unscoped, "GET", target), "authorization_scope_missing");
  await change(stage, "DELETE", `/domains/${name}?confirm=${name}`);
  assert.deepEqual(await runSql(gateway.databaseUrl, "SELECT FROM auth_codes"), []);
  await own({ gateway, reseller: other }, name);
  assertError(await gateway.send(other, "GET", target), "auth_code_not_found");
  assertError(await gateway.send(stage.reseller, "GET", target), "domain_not_found");
});
