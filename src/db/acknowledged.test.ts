import assert from "node:assert/strict";
import { test } from "node:test";
import { createAcknowledged } from "#db/acknowledged.ts";
import { createManualClock } from "../../test/harness/manual-clock.ts";

test("what was acknowledged is kept for ten minutes, and 10,000 of it at most", () => {
  const clock = createManualClock(1_800_000_000);
  const acknowledged = createAcknowledged(clock);
  acknowledged.addCommand("first");
  clock.advance(300_000);
  acknowledged.addRequest({ keyId: "key", nonce: "nonce", name: "REG-1" });
  assert.deepEqual(
    acknowledged.entries().map((entry) => (entry.is === "request" ? entry.name : entry.clTrid)),
    ["first", "REG-1"],
  );
  clock.advance(300_001);
  assert.equal(acknowledged.entries().length, 1, "the first one is too old, and nothing has come since");
  acknowledged.forget(acknowledged.entries());
  assert.deepEqual(acknowledged.entries(), []);
  for (let number = 0; number < 10_001; number++) acknowledged.addCommand(String(number));
  const [oldest, ...others] = acknowledged.entries();
  assert.deepEqual([oldest?.is === "command" && oldest.clTrid, others.length], ["1", 9_999]);
});
