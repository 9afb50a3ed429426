import assert from "node:assert/strict";
import { test } from "node:test";
import { eventOfCreate } from "#domains/orders/result-codes.ts";
import { nextOrderState } from "#domains/orders/states.ts";
import { availabilityOf } from "#domains/registry/availability.ts";
import { createMeanings } from "#registry/code-meanings.ts";

const meanings = `
  created          1000
  create-pending   1001
  rejected         2001 2003 2004 2005 2303 2304 2305 2306 2308
  operator-needed  2100 2101 2102 2103 2201 2307
  out-of-credit    2104
  not-executed     2002 2200 2202 2501 2502
  exists           2302
  unanswered       2400 2500
`;

test("each result code of a create has its event", () => {
  for (const line of meanings.trim().split("\n")) {
    const [event, ...codes] = line.trim().split(/ +/);
    for (const code of codes) assert.equal(eventOfCreate(Number(code), {}), event, code);
  }
});

test("an unknown code is treated like a lost answer", () => {
  for (const code of [1300, 1999, 2000, 2105, 2106, 2300, 2301, 2999]) {
    assert.equal(eventOfCreate(code, {}), "unanswered", String(code));
  }
});

test("a profile's meaning of a code overrides the default", () => {
  assert.equal(eventOfCreate(2304, { 2304: "exists" }), "exists");
  assert.equal(eventOfCreate(2302, { 2304: "exists" }), "exists");
});

test("every meaning that a profile may give to a code is one that a create can have", () => {
  for (const meaning of createMeanings) assert.equal(eventOfCreate(2999, { 2999: meaning }), meaning);
});

test("a meaning that a create cannot have is ignored", () => {
  for (const meaning of ["exsits", "deleted", "seen-once"]) {
    assert.equal(eventOfCreate(2304, { 2304: meaning }), "rejected", meaning);
  }
});

test("every code has an event that the create's state knows", () => {
  for (let code = 1000; code < 3000; code++) {
    assert.ok(nextOrderState("Processing (create)", eventOfCreate(code, {})), String(code));
  }
});

test("a check that says no tells a taken name from one that is not offered", () => {
  assert.equal(availabilityOf({ available: true, reason: "Reserved" }), "available");
  for (const reason of ["Reserved", "Blocked", "Premium name", "not allowed by policy"]) {
    assert.equal(availabilityOf({ available: false, reason }), "refused", reason);
  }
  for (const reason of ["In use", "Registered", undefined]) {
    assert.equal(availabilityOf({ available: false, reason }), "taken", reason);
  }
});
