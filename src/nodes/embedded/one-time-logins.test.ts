import assert from "node:assert/strict";
import { test } from "node:test";
import { systemRandom } from "#lib/random.ts";
import { Secret } from "#lib/secret.ts";
import type { Account } from "#nodes/embedded/accounts.ts";
import { OneTimeLogins } from "#nodes/embedded/one-time-logins.ts";

const account = {} as Account;

function create() {
  const time = { ms: 0 };
  const clock = { now: () => new Date(time.ms), monotonicMs: () => time.ms };
  return { time, logins: new OneTimeLogins({ clock, random: systemRandom, validMs: 60_000 }) };
}

test("a one-time login opens its account once", () => {
  const { logins } = create();
  const { user, password } = logins.create(account);
  assert.equal(logins.redeem(user, password), account);
  assert.equal(logins.redeem(user, password), undefined);
});

test("a one-time login is used up by a wrong password too", () => {
  const { logins } = create();
  const { user, password } = logins.create(account);
  assert.equal(logins.redeem(user, new Secret("wrong")), undefined);
  assert.equal(logins.redeem(user, password), undefined);
});

test("a one-time login ends after its time", () => {
  const { logins, time } = create();
  const { user, password } = logins.create(account);
  time.ms = 60_000;
  assert.equal(logins.redeem(user, password), undefined);
});
