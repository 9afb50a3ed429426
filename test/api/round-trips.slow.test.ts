import assert from "node:assert/strict";
import { test } from "node:test";
import { countRoundTrips } from "../harness/round-trips.ts";

/** The most that a kind of request may take (bench/README.md). */
const barDefault = 4;
const bars: Record<string, number> = {
  "GET /domains/<name>, signed": 1,
  "GET /account": 1,
  "POST /domains/registrations": 3,
  "POST /domains/registrations with an Idempotency-Key": 7,
};

test("a request takes no more round trips to the database than its bar", async (t) => {
  const counts = await countRoundTrips(t);
  const above = [...counts].filter(([about, count]) => count > (bars[about] ?? barDefault));
  assert.deepEqual(above, [], [...counts].map(([about, count]) => `${about}: ${count}`).join("\n"));
});
