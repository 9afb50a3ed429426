import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { backoffMs } from "#lib/backoff.ts";
import { systemRandom } from "#lib/random.ts";

const settings = { firstMs: 100, maxMs: 5_000 };
const lowest = { ...systemRandom, below: () => 0 };
const highest = { ...systemRandom, below: (limit: number) => limit - 1 };

test("the delay doubles with every failed attempt, up to the maximum", () => {
  const longest = [1, 2, 3, 6, 7, 8].map((attempt) => backoffMs(attempt, settings, highest));
  assert.deepEqual(longest, [100, 200, 400, 3_200, 5_000, 5_000]);
});

test("chance shortens the delay by half at most", () => {
  const shortest = [1, 2, 3, 6, 7, 8].map((attempt) => backoffMs(attempt, settings, lowest));
  assert.deepEqual(shortest, [50, 100, 200, 1_600, 2_500, 2_500]);
});

test("the delay is whole, positive and within the maximum after any number of failures", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10_000 }), fc.integer({ min: 2, max: 60_000 }), (attempt, firstMs) => {
      const delayMs = backoffMs(attempt, { firstMs, maxMs: 600_000 }, systemRandom);
      assert.ok(Number.isInteger(delayMs) && delayMs >= firstMs / 2 - 1 && delayMs > 0 && delayMs <= 600_000);
    }),
  );
});
