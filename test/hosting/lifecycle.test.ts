import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { after, afterEach, test } from "node:test";
import { resumeAccount, suspendAccount } from "#hosting/accounts/suspend.ts";
import { systemClock, unixSeconds } from "#lib/clock.ts";
import { TestFtpClient } from "#nodes/embedded/ftp/test-ftp-client.ts";
import { assertError } from "../harness/assert-reply.ts";
import { createManualClock } from "../harness/manual-clock.ts";
import { readPage, upload } from "../harness/site.ts";
import { runSql } from "../harness/sql.ts";
import { type Account, password, startHostingStage } from "./stage.ts";

/** No worker runs here: a test moves the clock and runs an account's step when it needs to. */
const clock = createManualClock(unixSeconds(systemClock));
const stage = await startHostingStage({ after }, { clock, worker: false });
const { gateway, node, reseller } = stage;
const { context } = gateway;
afterEach(() => {
  for (const relay of [stage.control, stage.ftp, stage.web]) relay.join();
});

const put = (identifier: string, secret = password, file = "/www/index.html", content = "open") =>
  upload({ host: "127.0.0.1", port: stage.ftp.port }, identifier, secret, file, content);
const page = (identifier: string) =>
  readPage({ host: "127.0.0.1", port: stage.web.port }, `${identifier}.localhost`, "/index.html");
const readStatus = async (identifier: string) =>
  (await gateway.send(reseller, "GET", `/hostingaccounts/${identifier}`)).status;
const isOn = async (identifier: string) => (await node.driver.find(identifier)) !== undefined;
const listed = async () => {
  const { body, headers } = await gateway.send(reseller, "GET", "/hostingaccounts?take=100");
  return { names: (body as Account[]).map(({ identifier }) => identifier), total: headers["x-paging-totalresults"] };
};

test("a suspended account refuses logins, ends open sessions and answers 503 until it is resumed", async () => {
  const identifier = "paused.example";
  const id = await stage.ready(identifier);
  await put(identifier);
  assert.deepEqual(await page(identifier), { status: 200, body: "open" });
  const session = await TestFtpClient.logIn(stage.ftp.port, identifier, password);

  await suspendAccount(context, identifier, "sends phishing");
  assert.equal((await stage.read(identifier)).status, "Ready", "it is said once it is so");
  assert.equal((await stage.read(identifier)).changes_pending, true);
  await stage.advance(id);
  const { status, changes_pending } = await stage.read(identifier);
  assert.deepEqual({ status, changes_pending }, { status: "Suspended", changes_pending: false });
  assert.notEqual((await session.send("NOOP")).code, 200);
  await assert.rejects(put(identifier), /530/);
  assert.equal((await page(identifier)).status, 503);

  await resumeAccount(context, identifier);
  await stage.advance(id);
  assert.equal((await stage.read(identifier)).status, "Ready");
  assert.deepEqual(await page(identifier), { status: 200, body: "open" });
  await put(identifier);
  assert.deepEqual((await stage.story(id)).slice(3), ["suspend-wanted", "suspended", "resume-wanted", "resumed"]);
});

test("a suspension that is withdrawn before it was applied has no effect", async () => {
  const identifier = "hesitant.example";
  const id = await stage.ready(identifier);
  await suspendAccount(context, identifier, "a mistake");
  await resumeAccount(context, identifier);
  await stage.advance(id);
  assert.equal((await stage.read(identifier)).status, "Ready");
  assert.deepEqual((await stage.story(id)).slice(3), ["suspend-wanted", "resume-wanted", "applied"]);
});

test("a resumed account is Ready only after a probe", async () => {
  const identifier = "proven.example";
  const id = await stage.ready(identifier);
  await suspendAccount(context, identifier, "unpaid");
  await stage.advance(id);
  await resumeAccount(context, identifier);
  stage.web.cut();
  await stage.advance(id);
  assert.equal((await stage.read(identifier)).status, "Suspended");
  stage.web.join();
  await stage.advance(id);
  assert.equal((await stage.read(identifier)).status, "Ready");
});

test("only the new password opens an account that is Ready, Suspended or Provisioning", async () => {
  const other = "Another-horse-8-stable";
  const setPassword = (identifier: string) => stage.ask("PUT", `${identifier}/password`, { password: other });
  const identifier = "secret.example";
  const id = await stage.ready(identifier);
  const session = await TestFtpClient.logIn(stage.ftp.port, identifier, password);
  await setPassword(identifier);
  await stage.advance(id);
  assert.notEqual((await session.send("NOOP")).code, 200, "sessions of the old password end");
  await assert.rejects(put(identifier), /530/);
  await put(identifier, other);

  const early = await stage.create("early.example");
  await setPassword("early.example");
  await stage.advance(early);
  await put("early.example", other);

  const suspended = await stage.ready("locked.example");
  await suspendAccount(context, "locked.example", "unpaid");
  await stage.advance(suspended);
  await setPassword("locked.example");
  await stage.advance(suspended);
  assert.equal((await stage.read("locked.example")).status, "Suspended");
  await resumeAccount(context, "locked.example");
  await stage.advance(suspended);
  await put("locked.example", other);
});

test("a deleted account exists until its node has removed it, and then is not read, listed or counted", async () => {
  const identifier = "leaving.example";
  const id = await stage.ready(identifier);
  await put(identifier);
  const before = await listed();
  await stage.agentLeaves();
  await stage.ask("DELETE", identifier);
  await stage.ask("DELETE", identifier);
  await stage.advance(id);
  const leaving = await stage.read(identifier);
  assert.equal(leaving.status, "Ready");
  assert.match(leaving.removal_requested_at ?? "", /Z$/);
  const body = { servicepack_id: stage.packId, identifier, password };
  assertError(await gateway.send(reseller, "POST", "/hostingaccounts", { body }), "hosting_already_exist");
  const changed = await gateway.send(reseller, "PUT", `/hostingaccounts/${identifier}/password`, {
    body: { password },
  });
  assertError(changed, "hostingaccount_not_changeable");
  await assert.rejects(suspendAccount(context, identifier, "late"), /is being removed/);

  await stage.agentReturns();
  await stage.advance(id);
  assert.equal(await readStatus(identifier), 403);
  assert.equal(await isOn(identifier), false);
  await assert.rejects(put(identifier), /530/);
  assert.equal((await page(identifier)).status, 404);
  const gone = await listed();
  assert.deepEqual(
    gone.names,
    before.names.filter((name) => name !== identifier),
  );
  assert.equal(Number(gone.total), Number(before.total) - 1);
  assert.deepEqual((await stage.story(id)).slice(3), ["removal-wanted", "doubtful", "removed"]);
  const [row] = await runSql(gateway.databaseUrl, "SELECT password_hash_sealed FROM hosting_accounts WHERE id = $1", [
    id,
  ]);
  assert.deepEqual(row, { password_hash_sealed: Buffer.alloc(0) });
  assert.equal((await gateway.send(reseller, "DELETE", `/hostingaccounts/${identifier}`)).status, 403);
});

test("an account that is deleted during its creation leaves nothing behind", async () => {
  const unplaced = await stage.create("unplaced.example");
  await stage.ask("DELETE", "unplaced.example");
  await stage.advance(unplaced);
  assert.equal(await readStatus("unplaced.example"), 403);

  stage.web.cut();
  const half = await stage.create("half.example");
  await stage.advance(half);
  assert.ok(await isOn("half.example"));
  await stage.ask("DELETE", "half.example");
  await stage.advance(half);
  assert.equal(await isOn("half.example"), false);
  assert.equal(await readStatus("half.example"), 403);
  assert.deepEqual(await stage.story(half), ["requested", "placed", "doubtful", "removal-wanted", "removed"]);
});

test("a failed account is deleted at once, with the older failed ones", async () => {
  for (const times of [1, 2]) {
    const id = await stage.create("failed.example");
    await runSql(gateway.databaseUrl, "UPDATE hosting_accounts SET status = 'Failed' WHERE id = $1", [id]);
    assert.equal((await stage.read("failed.example")).status, "Failed", `time ${times}`);
  }
  await stage.ask("DELETE", "failed.example");
  assert.equal(await readStatus("failed.example"), 403);

  const failed = await stage.create("second.example");
  await runSql(gateway.databaseUrl, "UPDATE hosting_accounts SET status = 'Failed' WHERE id = $1", [failed]);
  const id = await stage.ready("second.example");
  await stage.ask("DELETE", "second.example");
  await stage.advance(id);
  assert.equal(await readStatus("second.example"), 403, "what failed before does not show again");
});

test("abuse 22: a deleted identifier gets another uid and folder with its next owner, and opens for nobody else", async () => {
  const identifier = "reused.example";
  const old = await stage.ready(identifier);
  const { uid } = await stage.inside(old);
  await put(identifier, password, "/www/index.html", "the old owner's");
  await stage.ask("DELETE", identifier);
  const other = await gateway.addReseller();
  const theirs = { servicepack_id: stage.packId, identifier, password: "Their-own-horse-7-hay" };
  const post = () => gateway.send(other, "POST", "/hostingaccounts", { body: theirs });
  assertError(await post(), "hosting_already_exist");
  await stage.advance(old);
  assert.equal((await post()).status, 202);
  const [row] = await runSql<{ id: string; uid: string }>(
    gateway.databaseUrl,
    "SELECT id, uid FROM hosting_accounts WHERE identifier = $1 AND status = 'Provisioning'",
    [identifier],
  );
  await stage.advance(Number(row?.id));
  assert.equal((await stage.read(identifier, other)).status, "Ready");
  assert.notEqual(Number(row?.uid), uid);
  await assert.rejects(put(identifier), /530/);
  assert.equal((await page(identifier)).status, 404);
  assert.deepEqual(await readdir(join(node.dataDir, "homes", String(row?.uid), "www")), []);
  // Late commands for the old account change nothing of the new one.
  await stage.advance(old);
  assert.equal((await node.driver.find(identifier))?.uid, Number(row?.uid));
  assert.equal(await readStatus(identifier), 403);
});

test("a change that waits for its node raises an alarm after ten minutes, until it is in effect", async () => {
  const identifier = "stubborn.example";
  const id = await stage.ready(identifier);
  clock.advance(60 * 60_000);
  await suspendAccount(context, identifier, "sends phishing");
  await stage.agentLeaves();
  await stage.advance(id);
  clock.advance(9 * 60_000);
  await stage.advance(id);
  assert.equal((await stage.inside(id)).alarm, null);
  clock.advance(2 * 60_000);
  await stage.advance(id);
  assert.match((await stage.inside(id)).alarm ?? "", /^still not suspended: the agent of the node/);
  await stage.agentReturns();
  await stage.advance(id);
  assert.equal((await stage.inside(id)).alarm, null);
  assert.equal((await stage.read(identifier)).status, "Suspended");
});

test("a node that refuses an account that has worked raises an alarm at once, and nothing is given up", async () => {
  const identifier = "hijacked.example";
  const id = await stage.ready(identifier);
  const { uid } = await stage.inside(id);
  await node.driver.remove({ identifier, uid });
  await stage.ask("PUT", `${identifier}/password`, { password });
  await stage.advance(id);
  assert.match((await stage.inside(id)).alarm ?? "", /^still not changed: the hosting node refused: uid_retired/);
  assert.equal((await stage.read(identifier)).status, "Ready");
  await stage.ask("DELETE", identifier);
  await stage.advance(id);
  assert.equal(await readStatus(identifier), 403);
  assert.equal((await stage.inside(id)).alarm, null);
});
