import assert from "node:assert/strict";
import { test } from "node:test";
import { eventOfRenew, isRefusal, meaningOfRenew } from "#domains/kinds/renew-codes.ts";
import { changeStates } from "#domains/orders/change-states.ts";
import { renewalMeanings } from "#registry/code-meanings.ts";

/** The codes of RFC 5730 §3, and some that no registry should send. */
const codes = Array.from({ length: 1_600 }, (_, index) => 1000 + index);

test("whatever code a registry answers a renew with, the order knows what to do", () => {
  for (const code of codes) {
    const event = eventOfRenew(code, {});
    assert.ok(event === undefined || changeStates.next("Processing (send)", event), String(code));
    if (event === undefined) assert.ok(isRefusal(meaningOfRenew(code, {})), String(code));
  }
});

test("every meaning that a profile may give to a code is one that a renew can have", () => {
  for (const meaning of renewalMeanings) {
    assert.equal(meaningOfRenew(2999, { 2999: meaning }), meaning);
    const event = eventOfRenew(2999, { 2999: meaning });
    assert.ok(event && changeStates.next("Processing (send)", event), meaning);
  }
});

test("only a success counts as a success, and an unknown code as a lost answer", () => {
  assert.deepEqual(
    codes.filter((code) => meaningOfRenew(code, {}) === "answered"),
    [1000],
  );
  for (const code of [1300, 2302, 2399, 2400, 2500]) assert.equal(eventOfRenew(code, {}), "unanswered");
});

test("for a code that may mean another date info decides, and a profile can say the same of other codes", () => {
  for (const code of [2004, 2105, 2304, 2306]) assert.equal(eventOfRenew(code, {}), "disputed");
  assert.equal(eventOfRenew(2305, { 2305: "disputed" }), "disputed");
  assert.equal(eventOfRenew(2305, { 2305: "seen-once" }), undefined, "what a renew cannot have is ignored");
});
