import assert from "node:assert/strict";
import { test } from "node:test";
import { renewalEventOfDelete } from "#domains/renewals/kind-delete.ts";
import { eventOfRenew } from "#domains/renewals/kind-renew.ts";
import { nextRenewalState } from "#domains/renewals/states.ts";
import { renewalMeanings } from "#registry/code-meanings.ts";

/** The codes of RFC 5730 §3, and some that no registry should send. */
const codes = Array.from({ length: 1_600 }, (_, index) => 1000 + index);

test("whatever code a registry answers with, the renewal knows what to do", () => {
  for (const code of codes) {
    assert.ok(nextRenewalState("Processing (renew)", eventOfRenew(code, {})), `renew ${code}`);
    assert.ok(nextRenewalState("Lapsing (delete)", renewalEventOfDelete(code)), `delete ${code}`);
  }
});

test("every meaning that a profile may give to a code is one that a renew can have", () => {
  for (const meaning of renewalMeanings) assert.equal(eventOfRenew(2999, { 2999: meaning }), meaning);
});

test("only a success counts as a success, and an unknown code as a lost answer", () => {
  assert.deepEqual(
    codes.filter((code) => eventOfRenew(code, {}) === "answered"),
    [1000],
  );
  assert.deepEqual(
    codes.filter((code) => renewalEventOfDelete(code) === "answered"),
    [1000, 1001],
  );
  for (const code of [1300, 2303, 2399, 2400, 2500]) assert.equal(renewalEventOfDelete(code), "unanswered");
  for (const code of [1300, 2302, 2399, 2400, 2500]) assert.equal(eventOfRenew(code, {}), "unanswered");
});

test("for a code that may mean another date info decides, and a profile can say the same of other codes", () => {
  for (const code of [2004, 2105, 2304, 2306]) assert.equal(eventOfRenew(code, {}), "disputed");
  assert.equal(eventOfRenew(2305, { 2305: "disputed" }), "disputed");
  assert.equal(
    eventOfRenew(2305, { 2305: "seen-once" }),
    eventOfRenew(2305, {}),
    "what a renew cannot have is ignored",
  );
});
