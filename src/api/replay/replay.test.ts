import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import {
  createReplayGuard,
  JournalUnavailable,
  type ReplayGuard,
  type ReplayGuardOptions,
} from "#api/replay/replay.ts";
import { systemClock, unixSeconds } from "#lib/clock.ts";
import { createLog } from "#lib/log.ts";
import { createManualClock, type ManualClock } from "../../../test/harness/manual-clock.ts";

const keyId = "0a1b2c3d4e5f60718293a4b5c6d7e8f9";
const otherKeyId = "f".repeat(32);
const startSeconds = 1700000000;
const windowSeconds = 300;
const log = createLog("test", "silent");

let journalDir: string;
let clock: ManualClock;
let opened: ReplayGuard[];

beforeEach(() => {
  journalDir = mkdtempSync(join(tmpdir(), "deedhouse-replay-"));
  clock = createManualClock(startSeconds);
  opened = [];
});

afterEach(() => {
  for (const guard of opened) guard.close();
  rmSync(journalDir, { recursive: true });
});

function open(options: Partial<ReplayGuardOptions> = {}, freshInstall = true): ReplayGuard {
  const guard = createReplayGuard({ journalDir, clock, log, ...options });
  guard.open(freshInstall);
  opened.push(guard);
  return guard;
}

function close(guard: ReplayGuard): void {
  guard.close();
  opened = opened.filter((other) => other !== guard);
}

/** Leaves what a killed process leaves: everything but the clean shutdown. */
function killed(guard: ReplayGuard): void {
  const state = readFileSync(join(journalDir, "state.json"));
  close(guard);
  writeFileSync(join(journalDir, "state.json"), state);
}

function changeState(change: Record<string, unknown>): void {
  const path = join(journalDir, "state.json");
  writeFileSync(path, JSON.stringify({ ...JSON.parse(readFileSync(path, "utf8")), ...change }));
}

const journalFiles = () => readdirSync(journalDir).filter((name) => name.startsWith("nonces-"));

function answer(guard: ReplayGuard, nonce: string, timestamp: number): void {
  assert.ok(guard.reserve(keyId, nonce, timestamp));
  guard.answered(keyId, nonce, timestamp);
}

test("lets a nonce of a key through once, and another key's nonce of the same text", () => {
  const guard = open();
  answer(guard, "a", startSeconds);
  assert.ok(guard.isUsed(keyId, "a"));
  assert.equal(guard.reserve(keyId, "a", startSeconds), false);
  assert.equal(guard.reserve(keyId, "a", startSeconds + 7), false, "with another timestamp too");
  assert.equal(guard.isUsed(otherKeyId, "a"), false);
  assert.ok(guard.reserve(otherKeyId, "a", startSeconds));
});

test("lets one of two twins in flight through", () => {
  const guard = open();
  assert.ok(guard.reserve(keyId, "a", startSeconds));
  assert.ok(guard.isUsed(keyId, "a"));
  assert.equal(guard.reserve(keyId, "a", startSeconds), false);
});

test("lets the identical header through again after a release, but never after an answer", () => {
  const guard = open();
  guard.reserve(keyId, "a", startSeconds);
  guard.release(keyId, "a");
  assert.equal(guard.isUsed(keyId, "a"), false);
  answer(guard, "a", startSeconds);
  guard.release(keyId, "a");
  assert.ok(guard.isUsed(keyId, "a"));
});

test("remembers a nonce for as long as its timestamp is inside the window, and then frees its memory", () => {
  const guard = open();
  const latest = startSeconds + windowSeconds;
  answer(guard, "ahead", latest);
  clock.advance(2 * windowSeconds * 1000);
  assert.equal(guard.reserve(keyId, "ahead", latest), false);
  answer(guard, "b", unixSeconds(clock));
  assert.ok(guard.isUsed(keyId, "ahead"));
  clock.advance(1000);
  answer(guard, "c", unixSeconds(clock));
  assert.equal(guard.isUsed(keyId, "ahead"), false);
  assert.equal(guard.horizonSeconds(), latest);
});

test("refuses a timestamp outside the window", () => {
  const guard = open();
  assert.equal(guard.reserve(keyId, "a", startSeconds - windowSeconds - 1), false);
  assert.equal(guard.reserve(keyId, "a", startSeconds + windowSeconds + 1), false);
});

test("reopens nothing when the clock is set back", () => {
  const guard = open();
  answer(guard, "a", startSeconds);
  clock.advance(1_000_000);
  answer(guard, "b", startSeconds + 1000);
  clock.set(startSeconds);
  assert.equal(guard.horizonSeconds(), startSeconds);
  assert.equal(guard.reserve(keyId, "a", startSeconds), false);
  killed(guard);
  assert.equal(open().reserve(keyId, "a", startSeconds), false, "nor after a restart");
});

test("forgets nothing when the clock jumps ahead for a moment", () => {
  const guard = open();
  answer(guard, "a", startSeconds);
  clock.set(startSeconds + 86_400);
  assert.equal(guard.reserve(keyId, "b", startSeconds), false);
  clock.set(startSeconds);
  assert.ok(guard.reserve(keyId, "b", startSeconds));
  assert.ok(guard.isUsed(keyId, "a"));
});

test("locks nobody out when the clock jumps an hour ahead and a request is signed by it", () => {
  const guard = open();
  answer(guard, "a", startSeconds);
  answer(guard, "of a client whose clock is ahead", startSeconds + 100);
  clock.set(startSeconds + 3600);
  answer(guard, "jumped", startSeconds + 3600);
  clock.set(startSeconds);
  answer(guard, "b", startSeconds);
  for (const nonce of ["a", "of a client whose clock is ahead", "jumped"]) assert.ok(guard.isUsed(keyId, nonce), nonce);
  clock.advance(3_600_000);
  answer(guard, "c", startSeconds + 3600);
  assert.equal(guard.reserve(keyId, "jumped", startSeconds + 3600), false);
});

test("follows a clock that was set ahead for good, and forgets by it", () => {
  const guard = open();
  answer(guard, "a", startSeconds);
  clock.set(startSeconds + 3600);
  answer(guard, "b", startSeconds + 3600);
  clock.advance(windowSeconds * 1000);
  answer(guard, "c", startSeconds + 3600 + windowSeconds);
  assert.equal(guard.isUsed(keyId, "a"), false);
  assert.equal(guard.horizonSeconds(), startSeconds);
});

test("lets no client wait after a fresh install", () => {
  assert.ok(open().reserve(keyId, "a", startSeconds - windowSeconds));
});

test("refuses what may have been accepted when the journal is gone but the database is not", () => {
  const guard = open({}, false);
  assert.equal(guard.horizonSeconds(), startSeconds + windowSeconds);
  assert.equal(guard.reserve(keyId, "a", startSeconds), false);
});

test("takes files without a state for a loss, even on a fresh install", () => {
  writeFileSync(join(journalDir, "nonces-000007.log"), "");
  assert.equal(open().horizonSeconds(), startSeconds + windowSeconds);
});

test("keeps answered nonces over a restart, and frees those that were only in flight", () => {
  const first = open();
  answer(first, "answered", startSeconds);
  first.reserve(keyId, "in-flight", startSeconds);
  killed(first);
  const second = open({}, false);
  assert.equal(second.reserve(keyId, "answered", startSeconds), false);
  assert.ok(second.reserve(keyId, "in-flight", startSeconds));
  close(second);
  const third = open({}, false);
  assert.equal(third.reserve(keyId, "answered", startSeconds), false, "over a clean one too");
  assert.ok(third.reserve(keyId, "new", startSeconds));
});

/** Starts an api process (`test-replay-child.ts`). @returns the timestamp of the request that it has answered */
async function startChild(
  t: TestContext,
  how: "steady" | "jumping",
): Promise<{ timestamp: number; kill(): Promise<void> }> {
  const script = fileURLToPath(new URL("./test-replay-child.ts", import.meta.url));
  const child = spawn(process.execPath, [script, journalDir, keyId, how], { stdio: ["ignore", "pipe", "inherit"] });
  const exited = once(child, "exit");
  const kill = async () => {
    child.kill("SIGKILL");
    await exited;
  };
  t.after(kill);
  const [line] = await once(child.stdout, "data");
  return { timestamp: Number(line), kill };
}

test("refuses an answered nonce after SIGKILL, and a second process on the same folder before it", async (t) => {
  const { timestamp, kill } = await startChild(t, "steady");
  assert.throws(() => open({ clock: systemClock }, false), /Another api process uses .*Stop it first/);
  await kill();
  const guard = open({ clock: systemClock }, false);
  assert.equal(guard.reserve(keyId, "answered", timestamp), false);
  assert.ok(guard.reserve(keyId, "in-flight", timestamp));
});

for (const crashed of ["process", "machine"]) {
  test(`locks nobody out after a crash of the ${crashed} whose clock had jumped an hour ahead, and knows what was answered`, async (t) => {
    const { timestamp, kill } = await startChild(t, "jumping");
    await kill();
    if (crashed === "machine") changeState({ bootId: "another" });
    const restarted = createManualClock(unixSeconds(systemClock));
    const guard = open({ clock: restarted }, false);
    assert.ok(guard.horizonSeconds() < unixSeconds(restarted) + 60, "what could be lost is just past");
    restarted.advance(60_000);
    assert.ok(guard.reserve(keyId, "new", unixSeconds(restarted)));
    killed(guard);
    restarted.set(timestamp);
    assert.equal(
      open({ clock: restarted }, false).reserve(keyId, "answered", timestamp),
      false,
      "after one more restart too",
    );
  });
}

test("adds the nonces of committed writes", () => {
  const guard = open();
  guard.load([{ keyId, nonce: "written", timestamp: startSeconds }]);
  assert.equal(guard.reserve(keyId, "written", startSeconds), false);
});

test("refuses everything that was accepted before a crash of the machine", () => {
  const first = open();
  answer(first, "a", startSeconds + 5);
  killed(first);
  changeState({ bootId: "another" });
  const second = open({}, false);
  const horizon = second.horizonSeconds();
  assert.ok(horizon >= startSeconds + 5);
  assert.ok(horizon <= startSeconds + 30, "and not much more, or clients would wait");
  assert.equal(second.reserve(keyId, "b", horizon), false);
  assert.ok(second.reserve(keyId, "b", horizon + 1));
  killed(second);
  assert.equal(open({}, false).horizonSeconds(), horizon, "the horizon does not fall at the next start");
});

test("covers a nonce that was answered without a reservation when the machine crashes", () => {
  const guard = open();
  guard.answered(keyId, "a", startSeconds + 20);
  killed(guard);
  changeState({ bootId: "another" });
  assert.ok(open({}, false).horizonSeconds() >= startSeconds + 20);
});

test("lets no client wait when the machine restarted after a clean stop", () => {
  const guard = open();
  answer(guard, "a", startSeconds);
  close(guard);
  changeState({ bootId: "another" });
  const next = open({}, false);
  assert.ok(next.reserve(keyId, "b", startSeconds));
  assert.ok(next.isUsed(keyId, "a"));
});

test("ignores the line that was being written when the process died", () => {
  const guard = open();
  answer(guard, "a", startSeconds);
  killed(guard);
  const [file = ""] = journalFiles();
  appendFileSync(join(journalDir, file), `${keyId} 17000`);
  const next = open({}, false);
  assert.ok(next.isUsed(keyId, "a"));
  assert.ok(next.reserve(keyId, "b", startSeconds), "nobody waits for it");
});

test("refuses everything that was accepted when a file is damaged or missing, or the state is", () => {
  const losses: ((file: string) => void)[] = [
    (file) => writeFileSync(file, readFileSync(file, "utf8").replace(" ", "\0")),
    (file) => rmSync(file),
    (file) => truncateSync(file, 10),
    (file) => truncateSync(file),
    () => writeFileSync(join(journalDir, "state.json"), "{"),
    () => changeState({ ceilingSeconds: "soon" }),
    () => rmSync(join(journalDir, "state.json")),
  ];
  for (const [index, lose] of losses.entries()) {
    const nonce = `a${index}`;
    clock.advance(2 * windowSeconds * 1000);
    const guard = open({}, false);
    clock.advance(2 * windowSeconds * 1000);
    const timestamp = unixSeconds(clock);
    answer(guard, nonce, timestamp);
    // The state holds each file's length at its last save.
    answer(guard, `${nonce}-later`, timestamp + 15);
    killed(guard);
    lose(join(journalDir, journalFiles().at(-1) ?? ""));
    const next = open({}, false);
    assert.ok(next.horizonSeconds() >= timestamp, String(lose));
    assert.equal(next.reserve(keyId, nonce, timestamp), false);
    close(next);
  }
});

test("a journal from before 0.1.0 is refused, and stays as it is", () => {
  const guard = open();
  answer(guard, "a", startSeconds);
  close(guard);
  const path = join(journalDir, "state.json");
  const present = readFileSync(path, "utf8");
  const files = journalFiles();
  for (const lacks of ["bytes", "latestSeconds"]) {
    writeFileSync(path, present);
    changeState({ [lacks]: undefined });
    const earlier = readFileSync(path, "utf8");
    assert.throws(() => open({}, false), /state\.json belongs to a journal from before 0\.1\.0: name another folder/);
    assert.deepEqual([readFileSync(path, "utf8"), journalFiles()], [earlier, files]);
  }
});

test("begins a new file by size and by age, and removes files that lie below the horizon", () => {
  const guard = open({ fileBytesMax: 100, fileAgeSecondsMax: 600 });
  for (const nonce of ["a", "b", "c", "d", "e"]) answer(guard, nonce, startSeconds);
  assert.equal(journalFiles().length, 2);
  killed(guard);
  const next = open({ fileBytesMax: 1000, fileAgeSecondsMax: 600 }, false);
  for (const nonce of ["a", "b", "c", "d", "e"]) assert.ok(next.isUsed(keyId, nonce), nonce);
  assert.equal(journalFiles().length, 3);
  clock.advance(600_000);
  answer(next, "later", startSeconds + 600);
  assert.equal(journalFiles().length, 1, "the old ones have no timestamp that could be presented");
  killed(next);
  assert.ok(open({}, false).isUsed(keyId, "later"));
});

test("takes no request while the folder is away, and the same one once it is back", () => {
  const guard = open();
  renameSync(journalDir, `${journalDir}-away`);
  assert.throws(() => guard.reserve(keyId, "a", startSeconds), JournalUnavailable);
  assert.throws(() => guard.answered(keyId, "b", startSeconds), JournalUnavailable);
  renameSync(`${journalDir}-away`, journalDir);
  for (const nonce of ["a", "b"]) answer(guard, nonce, startSeconds);
  killed(guard);
  const next = open({}, false);
  assert.ok(next.isUsed(keyId, "a") && next.isUsed(keyId, "b"));
});

test("is not open before it has read its journal, nor after a clean stop", () => {
  const guard = createReplayGuard({ journalDir, clock, log });
  assert.throws(() => guard.reserve(keyId, "a", startSeconds), /not open/);
  guard.open(true);
  guard.close();
  assert.throws(() => guard.answered(keyId, "a", startSeconds), /not open/);
});
