// An api process for the replay guard's tests: answers one nonce, keeps another in flight, and waits to be killed.
import { createReplayGuard } from "#api/replay.ts";
import { systemClock, unixSeconds } from "#lib/clock.ts";
import { createLog } from "#lib/log.ts";

const [, , journalDir = "", keyId = ""] = process.argv;
const guard = createReplayGuard({ journalDir, clock: systemClock, log: createLog("test", "silent") });
const timestamp = unixSeconds(systemClock);
guard.open(true);
guard.reserve(keyId, "answered", timestamp);
guard.reserve(keyId, "in-flight", timestamp);
guard.answered(keyId, "answered", timestamp);
process.stdout.write(`${timestamp}\n`);
setInterval(() => {}, 60_000);
