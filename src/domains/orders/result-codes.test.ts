import assert from "node:assert/strict";
import { test } from "node:test";
import { type KindName, kindNames } from "#domains/orders/order.ts";
import { isRefusal, meaningOf } from "#domains/orders/result-codes.ts";
import { orderStates } from "#domains/orders/states.ts";
import { createMeanings, renewalMeanings } from "#registry/code-meanings.ts";

/** All codes that a registry can send (RFC 5730 §3), and many that none should. */
const codes = Array.from({ length: 2_000 }, (_, index) => 1000 + index);

const meaning = (
  code: number,
  kind: KindName,
  { create = {}, renew = {} }: Partial<Record<"create" | "renew", Record<string, string>>> = {},
) => meaningOf(code, kind, { resultCodes: create, renewalResultCodes: renew });

const meanings: [kind: KindName, expected: string][] = [
  [
    "nameservers",
    `answered       1000
     pending        1001
     rejected       2001 2003 2004 2005 2308
     disputed       2201 2302 2303 2305 2306
     failed         2100 2101 2102 2103 2105 2106 2304 2307
     out-of-credit  2104
     not-executed   2002 2200 2202 2501 2502
     unanswered     1300 1500 2000 2300 2301 2400 2500`,
  ],
  [
    "create",
    `answered       1000
     pending        1001
     rejected       2001 2003 2004 2005 2303 2304 2305 2306 2308
     disputed       2302
     failed         2100 2101 2102 2103 2201 2307
     out-of-credit  2104
     not-executed   2002 2200 2202 2501 2502
     unanswered     1300 1999 2000 2105 2106 2300 2301 2400 2500 2999`,
  ],
  [
    "renew",
    `answered       1000
     pending        1001
     rejected       2001 2003 2005 2308
     disputed       2004 2105 2201 2303 2304 2305 2306
     failed         2100 2101 2102 2103 2106 2307
     out-of-credit  2104
     not-executed   2002 2200 2202 2501 2502
     unanswered     1300 2302 2399 2400 2500`,
  ],
  ["delete", "answered 1000 1001\ndisputed 2304"],
  ["restore", "answered 1000 1001\ndisputed 2004 2304"],
  ["transfer-answer", "answered 1000 1001\ndisputed 2301\nfailed 2304"],
];

for (const [kind, expected] of meanings) {
  test(`each result code of an order of the kind ${kind} has its meaning`, () => {
    for (const line of expected.split("\n")) {
      const [event, ...ofEvent] = line.trim().split(/ +/);
      for (const code of ofEvent) assert.equal(meaning(Number(code), kind), event, code);
    }
  });
}

test("whatever code a registry answers with, the order knows what to do, and only a success is one", () => {
  for (const kind of kindNames) {
    for (const code of codes) {
      const event = meaning(code, kind);
      assert.ok(orderStates.next("Processing (send)", event), `${kind} ${code}`);
      assert.equal(event === "answered" || event === "pending", code <= 1001, `${kind} ${code}`);
    }
  }
});

test("an unknown code is treated like a lost answer, which is no refusal", () => {
  for (const kind of kindNames) {
    for (const code of [1300, 1999, 2000, 2300, 2400, 2500, 2999]) assert.equal(meaning(code, kind), "unanswered");
  }
  const refused = codes.filter((code) => isRefusal(meaning(code, "renew")));
  assert.ok(refused.every((code) => code >= 2001 && code <= 2502 && code !== 2400 && code !== 2500));
  assert.ok([2002, 2104, 2105, 2304, 2306].every((code) => refused.includes(code)));
});

test("every meaning that a profile may give to a code is one that an order can have", () => {
  for (const word of createMeanings) {
    assert.ok(orderStates.next("Processing (send)", meaning(2999, "create", { create: { 2999: word } })), word);
  }
  for (const word of renewalMeanings) {
    assert.ok(orderStates.next("Processing (send)", meaning(2999, "renew", { renew: { 2999: word } })), word);
  }
  const words = ["created", "create-pending", "exists", "operator-needed"];
  const expected = ["answered", "pending", "disputed", "failed"];
  assert.deepEqual(
    words.map((word) => meaning(2999, "create", { create: { 2999: word } })),
    expected,
  );
});

test("a profile's meaning of a code overrides the usual one, for this code and this kind only", () => {
  const profile = { create: { 2304: "exists" }, renew: { 2305: "operator-needed" } };
  assert.equal(meaning(2304, "create", profile), "disputed");
  assert.equal(meaning(2302, "create", profile), "disputed");
  assert.equal(meaning(2305, "create", profile), "rejected");
  assert.equal(meaning(2305, "renew", profile), "failed");
  assert.equal(meaning(2304, "nameservers", profile), "failed");
});

test("a word that is no meaning is ignored", () => {
  for (const word of ["exsits", "deleted", "seen-once"]) {
    assert.equal(meaning(2304, "create", { create: { 2304: word } }), "rejected", word);
  }
});
