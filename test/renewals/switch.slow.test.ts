import assert from "node:assert/strict";
import { test } from "node:test";
import { assertError } from "../harness/assert-reply.ts";
import { newNonce } from "../harness/signed-request.ts";
import { runSql } from "../harness/sql.ts";
import { operated } from "../orders/operate.ts";
import {
  assertRenewedOnce,
  commands,
  executed,
  giveNames,
  own,
  portfolioEntry,
  setWillRenew,
  startStage,
  untilRenewalIs,
  yearsLater,
} from "./stage.ts";

const body = (will_renew: unknown) => ({ body: { will_renew } });
const inAYear = () => new Map([["own.example", { expirationDate: new Date("2099-01-01T00:00:00.000Z") }]]);

test("switching is answered with 204 and no body, shown at once, and written to the name's history once", async (t) => {
  const { gateway, reseller } = await startStage(t);
  await giveNames(gateway, reseller, inAYear());
  for (const path of ["/domains/own.example/renew", "/v1/domains/OWN.Example/renew"]) {
    const reply = await gateway.send(reseller, "PUT", path, body(false));
    assert.deepEqual([reply.status, reply.text], [204, ""]);
    assert.equal(reply.headers["content-length"], undefined);
    assert.equal(reply.headers["content-type"], undefined);
  }
  assert.equal((await portfolioEntry(gateway, reseller, "own.example")).will_renew, false);
  await gateway.send(reseller, "PUT", "/domains/own.example/renew", body(true));
  const history = "SELECT event, note FROM domain_history ORDER BY id";
  const note = `by key ${reseller.key.id}`;
  assert.deepEqual(await runSql(gateway.databaseUrl, history), [
    { event: "will-renew-off", note },
    { event: "will-renew-on", note },
  ]);
});

test("an identical resend does nothing, even after the name was switched again", async (t) => {
  const { gateway, reseller } = await startStage(t);
  await giveNames(gateway, reseller, inAYear());
  const nonce = newNonce();
  const timestamp = Math.floor(gateway.context.clock.now().getTime() / 1000);
  const off = () => gateway.send(reseller, "PUT", "/domains/own.example/renew", { ...body(false), nonce, timestamp });
  assert.equal((await off()).status, 204);
  await gateway.send(reseller, "PUT", "/domains/own.example/renew", body(true));
  assert.equal((await off()).status, 204);
  assert.equal((await portfolioEntry(gateway, reseller, "own.example")).will_renew, true);
});

test("a key needs the scope domains:renew, which a new key has", async (t) => {
  const { gateway, reseller } = await startStage(t);
  await giveNames(gateway, reseller, inAYear());
  const reader = await gateway.addKey(reseller, { scopes: ["domains:read", "domains:register"] });
  const refused = await gateway.send(reader, "PUT", "/domains/own.example/renew", body(false));
  assert.match(assertError(refused, "authorization_scope_missing").error_text, /domains:renew/);
  const every = await gateway.addKey(reseller);
  assert.equal((await gateway.send(every, "PUT", "/domains/own.example/renew", body(false))).status, 204);
});

test("another reseller's name cannot be switched", async (t) => {
  const { gateway, reseller } = await startStage(t);
  await giveNames(gateway, reseller, inAYear());
  const rival = await gateway.addReseller();
  assertError(await gateway.send(rival, "PUT", "/domains/own.example/renew", body(false)), "domain_not_found");
  assert.equal((await portfolioEntry(gateway, reseller, "own.example")).will_renew, true);
});

test("a name can be switched until the renew is sent, and again once the next term has begun", async (t) => {
  const stage = await startStage(t);
  const { gateway, reseller } = stage;
  const name = "sent.example";
  await own(stage, name);
  const { expiration_date: before } = await portfolioEntry(gateway, reseller, name);
  const hold = gateway.registry.hold({ command: "domain:renew", name, at: "before-execution" });
  await stage.travelTo(name, 30);
  await hold.reached(1);
  const refused = await gateway.send(reseller, "PUT", `/domains/${name}/renew`, body(false));
  assertError(refused, "domain_renewal_underway");
  assert.match(refused.headers["retry-after"] ?? "", /^[1-9][0-9]*$/);
  assert.equal(await setWillRenew(stage, name, true), 204, "the current setting again is no change");
  hold.release();
  await assertRenewedOnce(stage, name, before);
  assert.equal(await setWillRenew(stage, name, false), 204);
  assert.equal((await portfolioEntry(gateway, reseller, name)).expiration_date, yearsLater(before, 1));
});

test("a name that is switched off before it is due is not renewed, although it was scheduled", async (t) => {
  const stage = await startStage(t);
  const { gateway } = stage;
  const name = "changed.example";
  await own(stage, name);
  await stage.travelTo(name, 40);
  await untilRenewalIs(gateway, name, "Scheduled");
  assert.equal(await setWillRenew(stage, name, false), 204);
  await untilRenewalIs(gateway, name, "Scheduled");
  await stage.travelTo(name, 20);
  await untilRenewalIs(gateway, name, "Lapsing");
  assert.deepEqual(commands(gateway, name, "domain:renew"), []);
});

test("a name whose delete was sent cannot be switched on again", async (t) => {
  const stage = await startStage(t);
  const { gateway, reseller } = stage;
  const name = "deleted.example";
  await own(stage, name);
  await setWillRenew(stage, name, false);
  const hold = gateway.registry.hold({ command: "domain:delete", name, at: "before-answer" });
  await stage.travelTo(name, -1);
  await hold.reached(1);
  assertError(await gateway.send(reseller, "PUT", `/domains/${name}/renew`, body(true)), "domain_renewal_underway");
  hold.release();
  await untilRenewalIs(gateway, name, "Ended");
  assert.equal(executed(gateway, name, "domain:delete"), 1);
});

test("a name that is switched off while its renew waits for a session is not renewed", async (t) => {
  // There is one session for everything but checks, and another name's question occupies it until the hold ends: a question that
  // is given up would free it.
  const registry = { sessionsMax: 2, pollIntervalMs: 3_600_000, queryTimeoutMs: 60_000 };
  const stage = await startStage(t, { registry });
  const { gateway, reseller } = stage;
  const [busy, waiting] = ["busy.example", "waiting.example"];
  const inDays = (days: number) => new Date(gateway.context.clock.now().getTime() + days * 24 * 60 * 60_000);
  const hold = gateway.registry.hold({ command: "domain:info", name: busy, at: "before-answer" });
  await giveNames(gateway, reseller, new Map([[waiting, { expirationDate: inDays(40) }]]));
  await untilRenewalIs(gateway, waiting, "Scheduled");
  await giveNames(gateway, reseller, new Map([[busy, { expirationDate: inDays(20) }]]));
  await hold.reached(1);
  await operated(gateway, "renewals", "run", waiting);
  await untilRenewalIs(gateway, waiting, "Processing (renew)");
  assert.equal(await setWillRenew(stage, waiting, false), 204);
  hold.release();
  await untilRenewalIs(gateway, busy, "Renewed");
  await untilRenewalIs(gateway, waiting, "Lapsing (wait)");
  assert.deepEqual(commands(gateway, waiting, "domain:renew"), []);
  const { body } = await gateway.send(reseller, "GET", `/orders?domain_name=${waiting}`);
  assert.equal((body as { status: string }[])[0]?.status, "Cancelled");
});

test("of switching and sending at the same moment, one sees the other", async (t) => {
  const stage = await startStage(t);
  const { gateway, reseller } = stage;
  const names = Array.from({ length: 24 }, (_, index) => `raced-${index}.example`);
  const expirationDate = new Date(gateway.context.clock.now().getTime() + 40 * 24 * 60 * 60_000);
  await giveNames(gateway, reseller, new Map(names.map((name) => [name, { expirationDate }])));
  await untilRenewalIs(gateway, names.at(-1)!, "Scheduled");
  await stage.travel(10.1);
  const answers = await Promise.all(names.map((name) => setWillRenew(stage, name, false)));
  for (const [index, name] of names.entries()) {
    const row = await portfolioEntry(gateway, reseller, name);
    // Refused: it is renewed. Accepted before it was sent: it is not. Accepted after it was renewed: for the next term.
    if (answers[index] === 409) {
      await untilRenewalIs(gateway, name, "Renewed");
      assert.equal(executed(gateway, name, "domain:renew"), 1, name);
      continue;
    }
    assert.equal(answers[index], 204);
    assert.equal(row.will_renew, false);
    const isNext = row.expiration_date !== expirationDate.toISOString();
    await untilRenewalIs(gateway, name, isNext ? "Renewed" : "Lapsing");
    assert.equal(commands(gateway, name, "domain:renew").length, isNext ? 1 : 0, name);
  }
});
