import assert from "node:assert/strict";
import { readdirSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createReplayGuard } from "#api/replay/replay.ts";
import { unixSeconds } from "#lib/clock.ts";
import { createLog } from "#lib/log.ts";
import { assertError } from "../harness/assert-reply.ts";
import { startTestGateway, type TestReseller } from "../harness/gateway.ts";
import { createManualClock, type ManualClock } from "../harness/manual-clock.ts";
import { newNonce } from "../harness/signed-request.ts";
import { cannotMount, smallDisk } from "../harness/small-disk.ts";
import { runSql } from "../harness/sql.ts";

const options = { skip: cannotMount };
const startSeconds = 1_900_000_000;

function openGuard(journalDir: string, clock: ManualClock) {
  const guard = createReplayGuard({ journalDir, clock, log: createLog("test", "silent") });
  guard.open(true);
  return guard;
}

/** A gateway whose replay folder is on a separate disk. */
async function startStage(t: TestContext) {
  const last: (() => unknown)[] = [];
  const disk = smallDisk({ after: (hook) => void last.push(hook) }, 512 * 1024);
  const journalDir = join(disk.folder, "replay");
  const clock = createManualClock(startSeconds);
  const replayGuard = openGuard(journalDir, clock);
  const gateway = await startTestGateway(t, { clock, worker: false, server: { replayGuard } });
  t.after(async () => {
    try {
      replayGuard.close();
    } finally {
      for (const hook of last) await hook();
    }
  });
  const reseller = await gateway.addReseller();
  const pack = await gateway.addPack();
  const create = (identifier: string, as: TestReseller = reseller) => {
    const body = { servicepack_id: pack, identifier, password: "correct horse battery" };
    const write = { body, nonce: newNonce(), timestamp: unixSeconds(clock) };
    return () => gateway.send(as, "POST", "/hostingaccounts", write);
  };
  const read = () => {
    const request = { nonce: newNonce(), timestamp: unixSeconds(clock) };
    return () => gateway.send(reseller, "GET", "/hostingaccounts", request);
  };
  const accounts = async () =>
    (
      await runSql<{ identifier: string }>(gateway.databaseUrl, "SELECT identifier FROM hosting_accounts ORDER BY id")
    ).map(({ identifier }) => identifier);
  return { disk, journalDir, clock, create, read, accounts };
}

test(
  "while the replay folder is full, a request is 503 before anything is done, and the resend of a committed write gets its answer",
  options,
  async (t) => {
    const { disk, clock, create, read, accounts } = await startStage(t);
    const first = create("first.example");
    assert.equal((await first()).status, 202);
    disk.fill();
    // The ceiling of timestamps must be raised.
    clock.advance(60_000);
    const [second, look] = [create("second.example"), read()];
    for (const send of [second, look, second, look]) {
      const refused = await send();
      assertError(refused, "service_unavailable");
      assert.equal(refused.headers["retry-after"], "5");
    }
    assert.deepEqual(await accounts(), ["first.example"]);
    assert.equal((await first()).status, 202);

    disk.free();
    assert.equal((await second()).status, 202, "the same header is served");
    assert.equal((await look()).status, 200);
    assertError(await look(), "authorization_nonce_reused");
    assert.deepEqual(await accounts(), ["first.example", "second.example"]);
  },
);

test(
  "a committed write whose nonce cannot be recorded gets its answer, at once and on resend; a read is 503 and free again",
  options,
  async (t) => {
    const { disk, journalDir, create, read, accounts } = await startStage(t);
    assert.equal((await read()()).status, 200);
    // Removes the space that was allocated ahead, as a copy-on-write file system does.
    for (const name of readdirSync(journalDir).filter((file) => file.startsWith("nonces-"))) {
      truncateSync(join(journalDir, name));
    }
    disk.fill();
    const [write, look] = [create("written.example"), read()];
    for (let times = 0; times < 2; times++) assert.equal((await write()).status, 202);
    for (let times = 0; times < 2; times++) assertError(await look(), "service_unavailable");
    disk.free();
    assert.equal((await look()).status, 200);
    assert.equal((await write()).status, 202);
    assert.deepEqual(await accounts(), ["written.example"]);
  },
);

test(
  "an api starts with a full replay folder, knows what was used, and serves once there is room",
  options,
  async (t) => {
    const disk = smallDisk(t, 512 * 1024);
    const journalDir = join(disk.folder, "replay");
    const clock = createManualClock(startSeconds);
    const keyId = "a".repeat(32);
    const before = openGuard(journalDir, clock);
    assert.ok(before.reserve(keyId, "used", startSeconds));
    await before.answered(keyId, "used", startSeconds);
    before.close();
    disk.fill();

    const guard = openGuard(journalDir, clock);
    t.after(() => guard.close());
    assert.ok(guard.isUsed(keyId, "used"));
    assert.throws(() => guard.reserve(keyId, "new", startSeconds), { name: "JournalUnavailable" });
    disk.free();
    assert.ok(guard.reserve(keyId, "new", startSeconds));
    assert.equal(guard.reserve(keyId, "used", startSeconds), false);
  },
);
