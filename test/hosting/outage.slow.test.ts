import assert from "node:assert/strict";
import { after, afterEach, test } from "node:test";
import { systemClock, unixSeconds } from "#lib/clock.ts";
import { testAccount } from "#nodes/test-account.ts";
import { createManualClock } from "../harness/manual-clock.ts";
import { eventually, startHostingStage } from "./stage.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** No worker runs here: a test moves the clock and runs an account's step when it needs to. */
const clock = createManualClock(unixSeconds(systemClock));
const stage = await startHostingStage({ after }, { clock, worker: false });
afterEach(async () => {
  for (const relay of [stage.ftp, stage.web]) relay.join();
  await stage.agentReturns();
});

for (const port of ["ftp", "web"] as const) {
  test(`an account is not ready while its node's ${port} port cannot be reached`, async () => {
    const identifier = `no-${port}.example`;
    stage[port].cut();
    const id = await stage.create(identifier);
    for (let tries = 0; tries < 3; tries += 1) await stage.advance(id);
    assert.ok(await stage.node.driver.find(identifier), "the node has it already");
    assert.equal((await stage.read(identifier)).status, "Provisioning");
    assert.deepEqual(await stage.story(id), ["requested", "placed", "doubtful"]);

    stage[port].join();
    await stage.advance(id);
    assert.equal((await stage.read(identifier)).status, "Ready");
  });
}

test("each retry waits longer than the one before, up to five minutes", async () => {
  await stage.agentLeaves();
  const id = await stage.create("waits.example");
  for (const ceilingMs of [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300].map((seconds) => seconds * 1_000)) {
    await stage.advance(id);
    const { next_step_at } = await stage.inside(id);
    const delayMs = next_step_at!.getTime() - clock.now().getTime();
    assert.ok(delayMs >= ceilingMs / 2 && delayMs <= ceilingMs, `${delayMs} of ${ceilingMs}`);
  }
});

test("an account that is not ready after ten minutes raises an alarm until it is", async () => {
  stage.web.cut();
  const id = await stage.create("late.example");
  await stage.advance(id);
  clock.advance(9 * minuteMs);
  await stage.agentReturns();
  await stage.advance(id);
  assert.equal((await stage.inside(id)).alarm, null);
  clock.advance(2 * minuteMs);
  await stage.agentReturns();
  await stage.advance(id);
  assert.match((await stage.inside(id)).alarm ?? "", /^still not ready: the probe failed/);
  assert.equal((await stage.read("late.example")).status, "Provisioning");

  stage.web.join();
  await stage.advance(id);
  assert.equal((await stage.read("late.example")).status, "Ready");
  assert.equal((await stage.inside(id)).alarm, null);
});

test("an account is given up after a day only when its node confirms that nothing of it is left", async () => {
  stage.web.cut();
  const id = await stage.create("gone.example");
  await stage.advance(id);
  clock.advance(24 * hourMs + minuteMs);
  await stage.agentLeaves();
  await stage.advance(id);
  assert.equal((await stage.read("gone.example")).status, "Provisioning");
  assert.ok(await stage.node.driver.find("gone.example"), "it is still on the node");

  await stage.agentReturns();
  await stage.advance(id);
  const { status, error_text } = await stage.read("gone.example");
  assert.equal(status, "Failed");
  assert.match(error_text ?? "", /could not be created/);
  assert.equal(await stage.node.driver.find("gone.example"), undefined);
  assert.deepEqual(await stage.story(id), ["requested", "placed", "doubtful", "abandoned", "refused"]);
});

test("an account whose node was down for more than a day is ready when the node is back", async () => {
  await stage.agentLeaves();
  const id = await stage.create("patient.example");
  await stage.advance(id);
  clock.advance(30 * hourMs);
  await stage.advance(id);
  assert.equal((await stage.read("patient.example")).status, "Provisioning");
  await stage.agentReturns();
  await stage.advance(id);
  assert.equal((await stage.read("patient.example")).status, "Ready");
});

test("an account that was given up while its node went down fails once the node has removed it", async () => {
  await stage.node.driver.ensureAccount(testAccount("theirs.example", 1));
  const id = await stage.create("theirs.example");
  // The node refuses, and answers whose the identifier is. With that the connection ends, before the removal that follows.
  stage.control.cutAfter(JSON.stringify('"identifier":"theirs.example"').slice(1, -1));
  await stage.advance(id);
  assert.equal((await stage.read("theirs.example")).status, "Provisioning");
  await stage.node.driver.remove({ identifier: "theirs.example", uid: 1 });
  await stage.agentReturns();
  await stage.advance(id);
  assert.equal((await stage.read("theirs.example")).status, "Failed", "giving up is never taken back");
  assert.deepEqual(await stage.story(id), ["requested", "placed", "abandoned", "doubtful", "refused"]);
});

test("without any hosting node an account waits, and is given up after a day", async (t) => {
  const bare = await startHostingStage(t, { clock, worker: false, node: false });
  const id = await bare.create("homeless.example");
  await bare.advance(id);
  clock.advance(11 * minuteMs);
  await bare.advance(id);
  assert.equal((await bare.read("homeless.example")).status, "Provisioning");
  assert.equal((await bare.inside(id)).alarm, "still not ready: no hosting node is configured");
  clock.advance(24 * hourMs);
  await bare.advance(id);
  assert.equal((await bare.read("homeless.example")).status, "Failed");
  assert.deepEqual(await bare.story(id), ["requested", "doubtful", "refused"]);
});

test("an account whose node is down stays Provisioning, and is ready once the node is back", async (t) => {
  const running = await startHostingStage(t);
  for (const relay of [running.control, running.ftp, running.web]) relay.cut();
  const id = await running.create("down.example");
  await eventually("the node was called", async () => (await running.story(id)).includes("doubtful"));
  const reply = await running.gateway.send(running.reseller, "GET", "/v1/hostingaccounts/down.example");
  assert.equal((reply.body as Record<string, unknown>).status, "Provisioning");
  assert.match(reply.headers["check-after"] ?? "", /^[1-9][0-9]*$/);

  await running.restartNode();
  assert.equal((await running.settled("down.example")).status, "Ready");
  assert.deepEqual(await running.story(id), ["requested", "placed", "doubtful", "probed"]);
});
