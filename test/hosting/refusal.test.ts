import assert from "node:assert/strict";
import { after, test } from "node:test";
import { testAccount } from "#nodes/test-account.ts";
import { runSql } from "../harness/sql.ts";
import { type Account, startHostingStage } from "./stage.ts";

const stage = await startHostingStage({ after }, { worker: false });
const { node, gateway, reseller } = stage;

test("an account that its node refuses fails, and its owner can read why", async () => {
  await node.driver.ensureAccount(testAccount("refused.example", 1));
  const id = await stage.create("refused.example");
  await stage.advance(id);
  const { status, error_text } = await stage.read("refused.example");
  assert.equal(status, "Failed");
  assert.equal(
    error_text,
    "The account could not be created. The identifier is free again; ask the operator for the cause.",
  );
  assert.deepEqual(await stage.story(id), ["requested", "placed", "abandoned", "refused"]);
  assert.equal((await node.driver.find("refused.example"))?.uid, 1, "what was in the way is untouched");
});

test("a failed identifier is free for another reseller, and its first owner still reads Failed", async () => {
  await node.driver.ensureAccount(testAccount("second.example", 2));
  await stage.advance(await stage.create("second.example"));
  await node.driver.remove({ identifier: "second.example", uid: 2 });

  const other = await gateway.addReseller();
  await stage.advance(await stage.create("second.example", other));
  assert.equal((await stage.read("second.example", other)).status, "Ready");
  assert.equal((await stage.read("second.example")).status, "Failed");
  const { body } = await gateway.send(reseller, "GET", "/v1/hostingaccounts");
  assert.ok(!(body as Account[]).some(({ identifier }) => identifier === "second.example"));
});

test("after a failure the owner can create the account again, and reads the new one", async () => {
  await node.driver.ensureAccount(testAccount("again.example", 3));
  const failed = await stage.create("again.example");
  await stage.advance(failed);
  await node.driver.remove({ identifier: "again.example", uid: 3 });
  const made = await stage.create("again.example");
  await stage.advance(made);
  assert.equal((await stage.read("again.example")).status, "Ready");
  assert.notEqual((await stage.inside(made)).uid, (await stage.inside(failed)).uid);
});

test("an account whose identifier was freed after its node had refused it is created", async () => {
  const { driver } = node;
  await driver.ensureAccount(testAccount("freed.example", 40));
  const id = await stage.create("freed.example");
  // An operator removes what was in the way between the refusal and the question who it is.
  const { find } = driver;
  driver.find = async (identifier) => {
    driver.find = find;
    await driver.remove({ identifier, uid: 40 });
    return find.call(driver, identifier);
  };
  await stage.advance(id);
  assert.equal((await stage.read("freed.example")).status, "Ready");
});

test("an account whose uid the node has or had for another account gets another uid and is Ready", async () => {
  const id = await stage.create("mixed.example");
  const { uid } = await stage.inside(id);
  await node.driver.ensureAccount(testAccount("stranger.example", uid));
  // Its agent reports the highest uid.
  await stage.agentReturns();
  await stage.advance(id);
  assert.equal((await stage.read("mixed.example")).status, "Ready");
  assert.notEqual((await stage.inside(id)).uid, uid);
  assert.equal((await node.driver.find("stranger.example"))?.uid, uid, "the other keeps its files");

  const again = await stage.create("retired.example");
  const { uid: retired } = await stage.inside(again);
  await node.driver.remove({ identifier: "gone.example", uid: retired });
  await stage.agentReturns();
  await stage.advance(again);
  assert.equal((await stage.read("retired.example")).status, "Ready");
  assert.notEqual((await stage.inside(again)).uid, retired);
});

test("a uid that the node refuses as taken is drawn again", async () => {
  const id = await stage.create("conflict.example");
  const { uid } = await stage.inside(id);
  await node.driver.ensureAccount(testAccount("conflicting.example", uid));
  // As if the account had come to the node by other means since its last report.
  const { databaseUrl } = gateway;
  await runSql(databaseUrl, "UPDATE hosting_accounts SET node_id = 'embedded', must_check_uid = false WHERE id = $1", [
    id,
  ]);
  await stage.advance(id);
  assert.notEqual((await stage.inside(id)).uid, uid);
  await stage.advance(id);
  assert.equal((await stage.read("conflict.example")).status, "Ready");
  assert.deepEqual(await stage.story(id), ["requested", "doubtful", "probed"]);
  assert.equal((await node.driver.find("conflicting.example"))?.uid, uid);
});

test("a failed account is never created afterwards, however late a step runs", async () => {
  await node.driver.ensureAccount(testAccount("late.example", 4));
  const id = await stage.create("late.example");
  await stage.advance(id);
  await node.driver.remove({ identifier: "late.example", uid: 4 });
  await stage.advance(id);
  assert.equal(await node.driver.find("late.example"), undefined);
  const { uid } = await stage.inside(id);
  await assert.rejects(node.driver.ensureAccount(testAccount("late.example", uid)), /uid_retired/);
});
