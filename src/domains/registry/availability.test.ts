import assert from "node:assert/strict";
import { test } from "node:test";
import { availabilityOf } from "#domains/registry/availability.ts";

test("a check that says no tells a taken name from one that is not offered", () => {
  assert.equal(availabilityOf({ available: true, reason: "Reserved" }), "available");
  for (const reason of ["Reserved", "Blocked", "Premium name", "not allowed by policy"]) {
    assert.equal(availabilityOf({ available: false, reason }), "refused", reason);
  }
  for (const reason of ["In use", "Registered", undefined]) {
    assert.equal(availabilityOf({ available: false, reason }), "taken", reason);
  }
});
