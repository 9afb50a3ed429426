/** Accounts that wait for their node: they are retried when it is back, or when an operator requests it. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, test } from "node:test";
import { createAgentDriver } from "#hosting/channel/driver.ts";
import { startTestChannel } from "#hosting/channel/test-channel.ts";
import { registerNode } from "#hosting/nodes/nodes.ts";
import { updateAbsenceAlarms } from "#hosting/nodes/seen.ts";
import { watchReturns } from "#hosting/wake.ts";
import { systemClock, unixSeconds } from "#lib/clock.ts";
import { memoryNode } from "#nodes/agent/test-agent-node.ts";
import { startWhmStub } from "../../sandbox/whm/server.ts";
import { createManualClock } from "../harness/manual-clock.ts";
import { nodeRoom } from "../harness/profiles.ts";
import { runSql } from "../harness/sql.ts";
import { assertRefused, operated } from "../orders/operate.ts";
import { panelMarker, panelToken } from "./panel-stage.ts";
import { eventually, startHostingStage } from "./stage.ts";

const stage = await startHostingStage({ after });
const { gateway } = stage;
const { context, databaseUrl } = gateway;

/** An account whose node is down and whose retry is minutes away, so an attempt shows that it was woken. */
async function waits(identifier: string): Promise<number> {
  for (const relay of [stage.ftp, stage.web]) relay.cut();
  await stage.agentLeaves();
  const id = await stage.create(identifier);
  await eventually("the node was called", async () => (await stage.story(id)).includes("doubtful"));
  await eventually("its retry is minutes away", () => isPutOff(id));
  return id;
}

/** @returns false during an attempt, whose end would set another time */
async function isPutOff(id: number): Promise<boolean> {
  const put = await runSql(
    databaseUrl,
    `UPDATE hosting_accounts SET next_step_at = now() + interval '4 minutes' WHERE id = ${id} AND next_step_at > now()
     RETURNING id`,
  );
  return put.length === 1;
}

const comeBack = async () => {
  for (const relay of [stage.ftp, stage.web]) relay.join();
  await stage.agentReturns();
};

test("an account that waits for its node is retried at once when the node answers again", async () => {
  await waits("woken.example");
  await comeBack();
  assert.equal((await stage.settled("woken.example")).status, "Ready");
});

test("an account whose retry is further away than the longest wait is retried now: a clock was set forward and back", async () => {
  const id = await waits("jumped.example");
  const read = `SELECT backoff_count AS tries FROM hosting_accounts WHERE id = ${id}`;
  const triesOf = async () => (await runSql<{ tries: number }>(databaseUrl, read))[0]?.tries ?? 0;
  const triesBefore = await triesOf();
  await gateway.stopWorker();
  await runSql(databaseUrl, `UPDATE hosting_accounts SET next_step_at = now() + interval '3 hours' WHERE id = ${id}`);
  await gateway.startWorker();
  await eventually("it was tried", async () => (await triesOf()) > triesBefore);
  await comeBack();
  assert.equal((await stage.settled("jumped.example")).status, "Ready");
});

test("an operator retries an account, or everything on a node, now", async () => {
  const retry = (...args: string[]) => operated(gateway, "hosting", "retry", ...args);
  const id = await waits("asked.example");
  await gateway.stopWorker();
  await comeBack();
  // As if nobody had noticed that the node is back.
  await isPutOffAgain(id);
  const isCalled = async () => {
    const [account] = await runSql<{ is_due: boolean }>(
      databaseUrl,
      `SELECT next_step_at <= now() AS is_due FROM hosting_accounts WHERE id = ${id}`,
    );
    return account?.is_due;
  };
  assert.equal(await isCalled(), false);
  assert.deepEqual(await retry("Asked.Example"), {
    identifier: "asked.example",
    status: "Provisioning",
    changes_pending: true,
    next_step: "now",
  });
  assert.equal(await isCalled(), true);
  await isPutOffAgain(id);
  assert.equal(await isCalled(), false);
  assert.deepEqual(await retry("--node", "embedded"), { node: "embedded", accounts: 1, moves: 0, next_step: "now" });
  assert.equal(await isCalled(), true);
  await gateway.startWorker();
  assert.equal((await stage.settled("asked.example")).status, "Ready");

  await assertRefused(gateway, ["hosting", "retry"], 2, /give either an identifier or --node/);
  await assertRefused(gateway, ["hosting", "retry", "a.example", "--node", "embedded"], 2, /give either/);
  await assertRefused(
    gateway,
    ["hosting", "retry", "nobody.example"],
    4,
    /there is no hosting account nobody\.example/,
  );
  await assertRefused(gateway, ["hosting", "retry", "--node", "none"], 4, /no hosting node none: deedhouse node list/);
  await runSql(databaseUrl, "UPDATE hosting_accounts SET status = 'Failed' WHERE identifier = 'asked.example'");
  await assertRefused(gateway, ["hosting", "retry", "asked.example"], 3, /is Failed: create it again/);
});

const isPutOffAgain = (id: number) =>
  runSql(databaseUrl, `UPDATE hosting_accounts SET next_step_at = now() + interval '4 minutes' WHERE id = ${id}`);

test("an operation that began while the node was down and fails after its return is retried too", async (t) => {
  const quiet = await startHostingStage(t, { worker: false });
  const clock = createManualClock(unixSeconds(systemClock));
  const returns = watchReturns({ ...quiet.gateway.context, clock }, "embedded");
  await quiet.agentLeaves();
  const id = await quiet.create("straggler.example");
  await quiet.advance(id);
  const { databaseUrl: url } = quiet.gateway;
  const putOff = () =>
    runSql(url, `UPDATE hosting_accounts SET next_step_at = now() + interval '5 hours' WHERE id = ${id}`);
  const isWoken = async () => {
    const rows = await runSql<{ is_due: boolean }>(
      url,
      `SELECT next_step_at < now() + interval '3 hours' AS is_due FROM hosting_accounts WHERE id = ${id}`,
    );
    return rows[0]?.is_due;
  };
  const wokenBy = async (happens: () => unknown) => {
    await putOff();
    await happens();
    return isWoken();
  };
  returns.failed();
  assert.equal(await wokenBy(() => returns.answered()), true);
  assert.equal(await wokenBy(() => returns.answered()), false);
  clock.advance(61_000);
  assert.equal(await wokenBy(() => returns.answered()), true);
  clock.advance(3_600_000);
  assert.equal(await wokenBy(() => returns.answered()), false, "a node that stays there wakes nobody");
  assert.equal(await wokenBy(() => returns.failed()), false);
  assert.equal(await wokenBy(() => returns.answered()), true);
});

test("an account that waits for a node with an agent is retried at once when the agent returns", async (t) => {
  const channel = await startTestChannel(t);
  const machine = await channel.join("web-1");
  const url = channel.context.databaseUrl;
  await runSql(
    url,
    `SET session_replication_role = replica;
     INSERT INTO hosting_accounts (id, identifier, reseller_id, servicepack_id, password_hash_sealed, disk_quota_bytes,
       files_max, ftp_sessions_max, status, node_id, next_step_at, created_at, updated_at) OVERRIDING SYSTEM VALUE
     VALUES (1, 'waits.example', 1, 1, '', 1, 1, 1, 'Provisioning', 'web-1', now() + interval '5 hours', now(), now());
     UPDATE node_channels SET last_seen_at = now() - interval '31 seconds'`,
  );
  const isWoken = async () =>
    (await runSql(url, "SELECT FROM hosting_accounts WHERE id = 1 AND next_step_at <= now()")).length > 0;
  const agent = await machine.start(memoryNode());
  await eventually("the account is woken", isWoken);
  await agent.close();
  await runSql(url, "UPDATE hosting_accounts SET next_step_at = now() + interval '4 minutes'");
  await machine.start(memoryNode());
  await createAgentDriver(channel.context, "web-1", { host: "localhost", port: 21 }).list();
  assert.equal(await isWoken(), false, "it was not away");
});

test("a panel that answers is not reported as down", async (t) => {
  const stub = await startWhmStub({ user: "reseller", token: panelToken, servesFtp: false });
  t.after(() => stub.close());
  const web = { host: "127.0.0.1", port: stub.webPort, isHttps: false };
  const settings = { url: stub.url, user: "reseller", token: panelToken, ca: await readFile(stub.caFile, "utf8") };
  const place = { id: "panel", kind: "cpanel", ftp: { host: "127.0.0.1", port: 1 }, web } as const;
  await registerNode(context, { ...place, settings: { ...settings, ...panelMarker } }, nodeRoom, false);
  await runSql(
    databaseUrl,
    "UPDATE hosting_nodes SET created_at = now() - interval '1 hour', silent_since = now() - interval '1 hour' WHERE id = 'panel'",
  );
  await eventually("the panel was asked", async () => stub.requests.length > 0);
  const isAway = async () => {
    await updateAbsenceAlarms(context);
    const alarms = await runSql(
      databaseUrl,
      "SELECT 1 FROM alarms WHERE kind = 'hosting-node-away' AND subject = 'panel' AND resolved_at IS NULL",
    );
    return alarms.length > 0;
  };
  await eventually("it is not away", async () => !(await isAway()));
  // It is asked every five minutes, so its last answer may be older than a minute.
  await runSql(
    databaseUrl,
    `UPDATE hosting_nodes SET last_seen_at = now() - interval '4 minutes', silent_since = now() - interval '11 minutes'
     WHERE id = 'panel'`,
  );
  assert.equal(await isAway(), false);
});
