import assert from "node:assert/strict";
import { test } from "node:test";
import { instantClock } from "../client/testing/instant-clock.ts";
import { createConfirmations } from "./confirmations.ts";

const given = { domain_name: "hello.example", years: 1, contacts: { tech: { city: "London" } } };

test("a token confirms exactly what ran dry", () => {
  const confirmations = createConfirmations(instantClock());
  const { token, idempotencyKey } = confirmations.create("registerDomain", given);
  const same = { contacts: { tech: { city: "London" } }, years: 1, domain_name: "hello.example" };
  assert.equal(confirmations.find(token, "registerDomain", same).idempotencyKey, idempotencyKey);
  const others = [
    { ...given, years: 2 },
    { ...given, contacts: { tech: { city: "Leeds" } } },
    { domain_name: "hello.example" },
    { ...given, will_renew: false },
  ];
  for (const other of others) {
    assert.throws(() => confirmations.find(token, "registerDomain", other), /other arguments.*Nothing was sent/);
  }
  assert.throws(() => confirmations.find(token, "renewDomain", given), /other arguments/);
  assert.throws(() => confirmations.find("00", "registerDomain", given), /unknown/);
});

test("a token expires after ten minutes, unless its call has been sent: then a repeat stays the same call", async () => {
  const clock = instantClock();
  const confirmations = createConfirmations(clock);
  const [unused, sent] = [confirmations.create("a", given), confirmations.create("a", given)];
  sent.isSent = true;
  await clock.sleep(599_999);
  confirmations.find(unused.token, "a", given);
  await clock.sleep(1);
  assert.throws(() => confirmations.find(unused.token, "a", given), /older than 10 minutes.*run it dry again/);
  assert.equal(confirmations.find(sent.token, "a", given), sent);
});

test("dry runs that nobody confirms do not pile up", () => {
  const confirmations = createConfirmations(instantClock());
  const [first, ...others] = Array.from({ length: 1_001 }, () => confirmations.create("a", given));
  assert.throws(() => confirmations.find(first!.token, "a", given), /unknown/);
  for (const { token } of others) confirmations.find(token, "a", given);
});
