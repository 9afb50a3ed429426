// An api process for the replay guard's tests: answers one nonce, keeps another in flight, and waits to be killed.
import { createReplayGuard } from "#api/replay/replay.ts";
import { unixSeconds } from "#lib/clock.ts";
import { createLog } from "#lib/log.ts";
import { createSteeredClock } from "../../../test/harness/steered-clock.ts";

const [, , journalDir = "", keyId = "", how = "steady"] = process.argv;
const clock = createSteeredClock();
const guard = createReplayGuard({ journalDir, clock, log: createLog("test", "silent") });
guard.open(true);
guard.reserve(keyId, "before", unixSeconds(clock));
await guard.answered(keyId, "before", unixSeconds(clock));
if (how === "jumping") clock.skip(1);
const timestamp = unixSeconds(clock);
guard.reserve(keyId, "answered", timestamp);
guard.reserve(keyId, "in-flight", timestamp);
await guard.answered(keyId, "answered", timestamp);
if (how === "jumping") clock.skip(-1);
process.stdout.write(`${timestamp}\n`);
// A garbage collection releases the lock of the folder when nothing refers to the guard any more.
setInterval(() => guard.kept(), 60_000);
