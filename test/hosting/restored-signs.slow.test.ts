/** The versions that a node has applied, and the uids that it reports: what shows a restore, and what does not. */
import assert from "node:assert/strict";
import { cp, readFile, rm } from "node:fs/promises";
import { after, test } from "node:test";
import { listAlarms } from "#alarms.ts";
import { registerNode } from "#hosting/nodes/nodes.ts";
import { openHostingNodes } from "#hosting/nodes/open.ts";
import { learnUids } from "#hosting/nodes/uids.ts";
import type { HostingNode } from "#nodes/driver.ts";
import { testAccount } from "#nodes/test-account.ts";
import { backUp } from "../harness/backup.ts";
import type { Scope } from "../harness/database.ts";
import { nodeRoom } from "../harness/profiles.ts";
import { runSql } from "../harness/sql.ts";
import { startMoveStage } from "./move-stage.ts";
import { panelMarker, panelToken, startPanel } from "./panel-stage.ts";

const stage = await startMoveStage({ after }, { worker: false });
const { gateway, second } = stage;
const { context, databaseUrl } = gateway;

const alarmed = async () =>
  (await listAlarms(context, { all: false, limit: 100 }))
    .filter(({ kind }) => kind === "hosting-node-restored")
    .map(({ subject }) => subject);

/** A driver with its own process. */
async function openDriver(scope: Scope, nodeId: string): Promise<HostingNode> {
  const nodes = await openHostingNodes(context);
  scope.after(() => nodes.close());
  return (await nodes.find(nodeId)) ?? assert.fail(`${nodeId} is not open`);
}

test("changes that are reordered, interrupted or sent by several processes are no sign of a restore", async (t) => {
  const drivers = await Promise.all([1, 2, 3].map(() => openDriver(t, "second")));
  const all = Array.from({ length: 60 }, (_, index) => testAccount(`site-${index}.example`, 2_001 + index));
  await Promise.all(
    all.map((account, index) => {
      const driver = drivers[index % drivers.length]!;
      return index % 7 === 0 ? driver.remove(account) : driver.ensureAccount(account);
    }),
  );
  // The node ends in between.
  const underWay = all.slice(0, 20).map((account) => drivers[0]!.ensureAccount(account).catch(() => {}));
  await second.restart();
  await Promise.all(underWay);
  const driver = await openDriver(t, "second");
  await driver.highestUid();
  await driver.remove(all[1]!);
  assert.deepEqual(await alarmed(), []);
});

test("a node that returns with an older disk is no sign of a restore, and accepts commands as before", async (t) => {
  const driver = await openDriver(t, "second");
  const older = `${second.dataDir}.older`;
  t.after(() => rm(older, { recursive: true }));
  await driver.ensureAccount(testAccount("before.example", 3_000));
  await second.restart(() => cp(second.dataDir, older, { recursive: true }));
  await driver.ensureAccount(testAccount("after.example", 3_001));
  await second.restart(async () => {
    await rm(second.dataDir, { recursive: true });
    await cp(older, second.dataDir, { recursive: true });
  });
  const opened = await openDriver(t, "second");
  await opened.ensureAccount(testAccount("after.example", 3_001));
  await opened.remove(testAccount("after.example", 3_001));
  assert.equal(await opened.highestUid(), 3_001, "what is on its disk counts");
  assert.deepEqual(await alarmed(), []);
});

test("a node that cannot be reached delays only its own accounts", async () => {
  // Since it was restarted, customers find it at another port.
  await runSql(databaseUrl, "UPDATE hosting_nodes SET ftp_port = $1 WHERE id = 'second'", [second.ports.ftpPort]);
  await runSql(databaseUrl, "UPDATE hosting_nodes SET is_draining = id = 'second'");
  const waiting = await stage.create("waiting.example");
  await stage.agentLeaves();
  await stage.advance(waiting);
  await runSql(databaseUrl, "UPDATE hosting_nodes SET is_draining = id = 'embedded'");
  const made = await stage.create("made.example");
  await stage.advance(made);
  assert.equal((await stage.read("made.example")).status, "Ready");
  assert.equal((await stage.read("waiting.example")).status, "Provisioning");
  await stage.agentReturns();
  await stage.advance(waiting);
  assert.equal((await stage.read("waiting.example")).status, "Ready");
});

test("a node that reports an impossible uid uses up no uids, and delays only its own accounts", async () => {
  await second.driver.ensureAccount(testAccount("liar.example", 2_000_000_000));
  // Its agent reports the uid.
  await stage.agentReturns();
  const waiting = await stage.create("second-waits.example");
  await stage.advance(waiting);
  assert.equal((await stage.read("second-waits.example")).status, "Provisioning");
  await runSql(databaseUrl, "UPDATE hosting_nodes SET is_draining = id = 'second'");
  const made = await stage.create("goes-on.example");
  await stage.advance(made);
  assert.equal((await stage.read("goes-on.example")).status, "Ready");
  const { uid } = await stage.inside(made);
  assert.ok(uid < 1_000_000);
  assert.deepEqual(await alarmed(), []);

  // A possible uid is believed once, and raises an alarm.
  const claims = async (claimed: number) =>
    learnUids(context, { ...second.driver, highestUid: async () => claimed }, "second");
  await claims(uid + 1_000_000);
  assert.deepEqual(await alarmed(), ["second"]);
  await assert.rejects(claims(uid + 2_000_000), /cannot have been assigned/);
  assert.ok((await stage.inside(await stage.create("later.example"))).uid < uid + 1_001_000);
  await runSql(databaseUrl, "DELETE FROM alarms");
});

test("a panel, which keeps no version, shows a restore by its newest account", async (t) => {
  const { stub, driver: direct } = await startPanel();
  t.after(() => stub.close());
  const settings = { url: stub.url, user: "reseller", token: panelToken, ...panelMarker };
  const place = { host: "127.0.0.1", port: stub.webPort };
  const nowhere = { host: "127.0.0.1", port: 1 };
  await registerNode(
    context,
    {
      id: "panel",
      kind: "cpanel",
      ftp: nowhere,
      web: { ...place, isHttps: false },
      settings: { ...settings, ca: await readFile(stub.caFile, "utf8") },
    },
    nodeRoom,
    false,
  );
  await runSql(databaseUrl, "UPDATE hosting_nodes SET is_draining = id <> 'panel'");
  // Without an FTP server no account becomes Ready there, but all are created.
  const make = async (identifier: string) => {
    const id = await stage.create(identifier);
    await stage.advance(id);
    return (await stage.inside(id)).uid;
  };
  const open = await openDriver(t, "panel");
  const kept = { identifier: "kept.panel.example", uid: await make("kept.panel.example") };
  const backup = await backUp(t, databaseUrl);
  const lost = await make("lost.panel.example");
  await backup.restore();
  await runSql(databaseUrl, "DELETE FROM alarms");
  const uid = await make("new.panel.example");
  assert.ok(uid > lost);
  assert.deepEqual(await alarmed(), ["panel"]);
  await assert.rejects(open.remove(kept), /nothing is removed on the node panel/);
  assert.deepEqual((await open.list()).map((account) => account.uid).sort(), [kept.uid, lost, uid].sort());
  assert.equal(direct.capabilities?.keepsCounter, false);
});
