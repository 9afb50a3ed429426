/** Which command counters and uids show that the database was restored, and which do not. */
import assert from "node:assert/strict";
import { copyFile, readFile } from "node:fs/promises";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, test } from "node:test";
import { listAlarms } from "#alarms.ts";
import { registerNode } from "#hosting/nodes/nodes.ts";
import { openHostingNodes } from "#hosting/nodes/open.ts";
import { commandCounterOf } from "#hosting/nodes/restored.ts";
import { learnUids } from "#hosting/nodes/uids.ts";
import type { HostingNode } from "#nodes/driver.ts";
import type { TestNode } from "#nodes/embedded/test-node.ts";
import { testAccount } from "#nodes/test-account.ts";
import { backUp } from "../harness/backup.ts";
import type { Scope } from "../harness/database.ts";
import { nodePlace, nodeRoom } from "../harness/profiles.ts";
import { runSql } from "../harness/sql.ts";
import { startMoveStage } from "./move-stage.ts";
import { panelMarker, panelToken, startPanel } from "./panel-stage.ts";

const stage = await startMoveStage({ after }, { worker: false });
const { gateway, node, second } = stage;
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

/** The gateway's commands, from a process that pauses between taking a counter and sending the command. */
async function command(to: TestNode, uid: number, counter: number): Promise<number> {
  const { passwordHash, ...account } = testAccount(`late-${uid}.example`, uid);
  const reply = await fetch(`http://127.0.0.1:${to.ports.controlPort}/accounts/${account.identifier}`, {
    method: "PUT",
    headers: {
      authorization: `Bearer ${to.controlToken.reveal()}`,
      "content-type": "application/json",
      "deedhouse-command": String(counter),
    },
    body: JSON.stringify({ ...account, passwordHash: passwordHash?.reveal() }),
  });
  await reply.text();
  return reply.status;
}

test("commands that are reordered, lost or sent by several processes are no sign of a restore", async (t) => {
  const counter = commandCounterOf(context, "second");
  const taken = [];
  for (let count = 0; count < 6; count += 1) taken.push(await counter.take(0));
  // The last one arrives first, and one never, because its process was killed.
  const [, ...arriving] = taken.toReversed();
  for (const [index, each] of arriving.entries()) assert.equal(await command(second, 1_001 + index, each), 204);
  const drivers = await Promise.all([1, 2, 3].map(() => openDriver(t, "second")));
  const all = Array.from({ length: 60 }, (_, index) => testAccount(`site-${index}.example`, 2_001 + index));
  await Promise.all(
    all.map((account, index) => {
      const driver = drivers[index % drivers.length]!;
      return index % 7 === 0 ? driver.remove(account) : driver.ensureAccount(account);
    }),
  );
  // Meanwhile the node ends, and so do the database's connections.
  const underWay = all.slice(0, 20).map((account) => drivers[0]!.ensureAccount(account).catch(() => {}));
  await second.restart();
  await Promise.all(underWay);
  await registerNode(context, nodePlace(second, "second"), nodeRoom, true);
  const [driver] = [await openDriver(t, "second")];
  await driver.highestUid();
  await driver.remove(all[1]!);
  assert.deepEqual(await alarmed(), []);
});

test("a node that returns with an older disk is no sign of a restore, and accepts commands as before", async (t) => {
  const driver = await openDriver(t, "second");
  const marks = join(second.dataDir, "marks.json");
  await copyFile(marks, `${marks}.older`);
  await driver.ensureAccount(testAccount("after.example", 3_001));
  await second.restart(() => copyFile(`${marks}.older`, marks));
  await registerNode(context, nodePlace(second, "second"), nodeRoom, true);
  const opened = await openDriver(t, "second");
  await opened.ensureAccount(testAccount("after.example", 3_001));
  await opened.remove(testAccount("after.example", 3_001));
  assert.equal(await opened.highestUid(), 3_001, "what is on its disk counts");
  assert.deepEqual(await alarmed(), []);
});

test("a node that cannot be reached delays only its own accounts", async () => {
  await runSql(databaseUrl, "UPDATE hosting_nodes SET is_draining = id = 'second'");
  const waiting = await stage.create("waiting.example");
  stage.control.cut();
  await stage.advance(waiting);
  await runSql(databaseUrl, "UPDATE hosting_nodes SET is_draining = id = 'embedded'");
  const made = await stage.create("made.example");
  await stage.advance(made);
  assert.equal((await stage.read("made.example")).status, "Ready");
  assert.equal((await stage.read("waiting.example")).status, "Provisioning");
  stage.control.join();
  await stage.advance(waiting);
  assert.equal((await stage.read("waiting.example")).status, "Ready");
});

test("a node that reports an impossible uid uses up no uids, and delays only its own accounts", async () => {
  await second.driver.ensureAccount(testAccount("liar.example", 2_000_000_000));
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
  await assert.rejects(claims(uid + 2_000_000), /cannot have been given out/);
  assert.ok((await stage.inside(await stage.create("later.example"))).uid < uid + 1_001_000);
  await runSql(databaseUrl, "DELETE FROM alarms");
});

test("a node of a release without counters accepts commands, and its uids show a restore", async (t) => {
  const inner = `http://127.0.0.1:${node.ports.controlPort}`;
  // As that release did, it does not know the path or our headers.
  const former = createServer((asked, reply) => {
    assert.equal(asked.headers["deedhouse-command"] === undefined || asked.method !== "GET", true);
    if (asked.url === "/marks") {
      reply.writeHead(404, { "content-type": "application/json" }).end('{"error":"Not Found"}');
      return;
    }
    const { "deedhouse-command": _, ...headers } = asked.headers;
    const passed = request(new URL(asked.url ?? "", inner), { method: asked.method, headers }, (answer) => {
      reply.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(reply);
    });
    asked.pipe(passed.on("error", () => reply.destroy()));
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => former.once("listening", resolve));
  t.after(() => former.close().closeAllConnections());
  const controlPort = (former.address() as AddressInfo).port;
  await registerNode(context, nodePlace(node, "former", { ...node.ports, controlPort }), nodeRoom, false);
  await runSql(databaseUrl, "UPDATE hosting_nodes SET is_draining = id <> 'former'");
  await stage.advance(await stage.create("former.example"));
  assert.equal((await stage.read("former.example")).status, "Ready");

  const backup = await backUp(t, databaseUrl);
  const lost = await stage.create("lost.example");
  await stage.advance(lost);
  const { uid } = await stage.inside(lost);
  await backup.restore();
  // A worker that starts checks each node.
  const driver = await openDriver(t, "former");
  await learnUids(context, driver, "former");
  assert.deepEqual(await alarmed(), ["former"]);
  const again = await stage.create("another.example");
  await stage.advance(again);
  assert.equal((await stage.read("another.example")).status, "Ready");
  assert.ok((await stage.inside(again)).uid > uid);
  await assert.rejects(
    driver.remove({ identifier: "former.example", uid: 1 }),
    /nothing is removed on the node former/,
  );
});

test("a panel, which keeps no counter, shows a restore by its newest account", async (t) => {
  const { stub, driver: direct } = await startPanel();
  t.after(() => stub.close());
  const settings = { url: stub.url, user: "reseller", token: panelToken, ...panelMarker };
  const place = { host: "127.0.0.1", port: stub.webPort };
  const nowhere = { host: "127.0.0.1", port: 1 };
  await registerNode(
    context,
    {
      ...{ id: "panel", kind: "cpanel", ftp: nowhere, web: { ...place, isHttps: false } },
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
