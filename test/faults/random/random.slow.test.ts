/** Random calls under kills, cuts and faults, for two minutes: `npm run test:faults -- --random` plays for longer. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { seed } from "../../properties/seed.ts";
import { models } from "./play.ts";
import { runRandom } from "./run-random.ts";

const secondsInAll = 120;

for (const [index, own] of models.entries()) {
  test(`after any calls, kills, cuts and lost answers everything agrees with the registry (${own.dataModel}, hosts as ${own.hostModel})`, async (t) => {
    const played = await runRandom(t, { seed: seed + index, own, seconds: secondsInAll / models.length });
    t.diagnostic(played.about);
    assert.deepEqual(played.faults, [], `PROPERTY_SEED=${seed}:\n${played.log.join("\n")}`);
  });
}
