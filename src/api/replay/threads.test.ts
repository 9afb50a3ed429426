import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createReplayGuard, type JournalGuard, JournalUnavailable } from "#api/replay/replay.ts";
import { allocateReplayMemory, nonceValueWords } from "#api/replay/replay-memory.ts";
import { unixSeconds } from "#lib/clock.ts";
import { createLog } from "#lib/log.ts";
import { allocateTable } from "#lib/threads/digest-table.ts";
import { createManualClock } from "../../../test/harness/manual-clock.ts";

const keyId = "0123456789abcdef".repeat(2);
const windowSeconds = 300;
const log = createLog("test", "silent");

/** Guards of threads, in one. Each closes before the folder is removed. */
function stage(t: TestContext) {
  const journalDir = mkdtempSync(join(tmpdir(), "deedhouse-threads-"));
  const clock = createManualClock(1700000000);
  const opened: JournalGuard[] = [];
  t.after(() => {
    for (const guard of opened.toReversed()) guard.close();
    rmSync(journalDir, { recursive: true });
  });
  const make = (memory = allocateReplayMemory(1, windowSeconds), thread = 0) => {
    const guard = createReplayGuard({ journalDir, clock, log, windowSeconds, memory, thread });
    opened.push(guard);
    return guard;
  };
  const openAll = (freshInstall = true, memory = allocateReplayMemory(1, windowSeconds)) => {
    const first = make(memory);
    first.open(freshInstall);
    const others = [1, 2].map((thread) => make(memory, thread)) as [JournalGuard, JournalGuard];
    for (const guard of others) guard.join();
    return [first, ...others] as const;
  };
  /** Leaves what a killed process leaves: everything but the clean shutdown. */
  const kill = () => {
    const state = readFileSync(join(journalDir, "state.json"));
    for (const guard of opened.splice(0).toReversed()) guard.close();
    writeFileSync(join(journalDir, "state.json"), state);
  };
  const files = () => readdirSync(journalDir).filter((name) => name.startsWith("nonces-"));
  return { clock, make, openAll, kill, files, now: () => unixSeconds(clock) };
}

function bury(first: JournalGuard, thread: number): void {
  first.freeLocks(thread);
  first.freeInFlight(thread);
}

function answer(guard: JournalGuard, nonce: string, timestamp: number): void {
  assert.ok(guard.reserve(keyId, nonce, timestamp), nonce);
  guard.answered(keyId, nonce, timestamp);
}

test("of twins at two threads one is let through, in flight and when it is answered", (t) => {
  const { openAll, now } = stage(t);
  const [, one, other] = openAll();
  assert.ok(one.reserve(keyId, "a", now()));
  assert.ok(other.isUsed(keyId, "a"));
  assert.equal(other.reserve(keyId, "a", now()), false);
  other.release(keyId, "a");
  assert.equal(other.reserve(keyId, "a", now()), false, "a thread frees only its own");
  one.release(keyId, "a");
  answer(other, "a", now());
  assert.equal(one.reserve(keyId, "a", now()), false);
});

test("what a thread that has died had in flight is free, and what it answered stays used", (t) => {
  const { openAll, now } = stage(t);
  const [first, one, other] = openAll();
  answer(one, "answered", now());
  assert.ok(one.reserve(keyId, "in-flight", now()));
  assert.ok(other.reserve(keyId, "of-another", now()));
  bury(first, 1);
  assert.ok(other.reserve(keyId, "in-flight", now()));
  for (const nonce of ["answered", "of-another"]) assert.equal(first.isUsed(keyId, nonce), true, nonce);
});

test("each thread has a file, and a restart knows what all have answered", (t) => {
  const { openAll, kill, files, now, clock } = stage(t);
  const [first, one, other] = openAll();
  for (const [number, guard] of [one, other].entries()) answer(guard, `nonce-${number}`, now());
  assert.equal(files().length, 3);
  bury(first, 2);
  clock.advance(30_000);
  answer(one, "raises-the-bounds", now());
  kill();
  const [again] = openAll(false);
  for (const nonce of ["nonce-0", "nonce-1", "raises-the-bounds"]) assert.ok(again.isUsed(keyId, nonce), nonce);
  assert.ok(again.reserve(keyId, "new", now()));
});

test("files of threads that have died go when they lie below the horizon", (t) => {
  const { openAll, files, now, clock } = stage(t);
  const [first, one, other] = openAll();
  for (const guard of [one, other]) answer(guard, guard === one ? "one" : "other", now());
  bury(first, 2);
  clock.advance((2 * windowSeconds + 1) * 1_000);
  answer(one, "b", now());
  assert.equal(files().length, 2, "that of the first, and that of the second");
});

test("all threads see the horizon and the bounds that one has raised", (t) => {
  const { openAll, now, clock } = stage(t);
  const [first, one, other] = openAll();
  answer(one, "a", now());
  const signedAt = now();
  clock.advance((windowSeconds + 1) * 1_000);
  answer(other, "b", now());
  for (const guard of [first, one, other]) assert.equal(guard.horizonSeconds(), signedAt);
  first.raiseHorizon(now());
  assert.equal(one.reserve(keyId, "c", now()), false);
  assert.ok(one.reserve(keyId, "c", now() + 1));
});

test("a full table takes no nonce, forgets none before its time, and has room again afterwards", (t) => {
  const { make, now, clock } = stage(t);
  const memory = { ...allocateReplayMemory(1, windowSeconds), nonces: allocateTable(1, nonceValueWords) };
  const guard = make(memory);
  guard.open(true);
  const fill = (label: string) => {
    for (let number = 0; number < 64; number++) answer(guard, `${label}-${number}`, now());
  };
  fill("first");
  assert.equal(guard.kept(), 64);
  assert.throws(() => guard.reserve(keyId, "one more", now()), JournalUnavailable);
  for (let number = 0; number < 64; number++) assert.ok(guard.isUsed(keyId, `first-${number}`));
  clock.advance((windowSeconds + 1) * 1_000);
  fill("second");
  assert.throws(() => guard.reserve(keyId, "one more", now()), /DEEDHOUSE_NONCES_MEGABYTES/);
});

test("what does not fit into the table at a start lies below the horizon", (t) => {
  const { make, kill, now, clock } = stage(t);
  const guard = make();
  guard.open(true);
  for (let number = 0; number < 65; number++) answer(guard, String(number), now());
  const signedAt = now();
  kill();
  clock.advance(1_000);
  const small = make({ ...allocateReplayMemory(1, windowSeconds), nonces: allocateTable(1, nonceValueWords) });
  small.open(false);
  for (let number = 0; number < 65; number++) assert.equal(small.reserve(keyId, String(number), signedAt), false);
  assert.ok(small.reserve(keyId, "new", now()));
});
