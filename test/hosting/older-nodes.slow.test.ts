/** Embedded nodes of the release whose gateway commanded them over a control port, and not through an agent. */
import assert from "node:assert/strict";
import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { listAlarms } from "#alarms.ts";
import { suspendAccount } from "#hosting/accounts/suspend.ts";
import { createJoinToken } from "#hosting/channel/join-token.ts";
import type { TestNode } from "#nodes/test-embedded-node.ts";
import { emptyDatabase } from "../harness/database.ts";
import { startSystem, systemFolder } from "../harness/running-system.ts";
import { readPage, upload } from "../harness/site.ts";
import { runSql } from "../harness/sql.ts";
import { type MoveStage, pageOf, startMoveStage } from "./move-stage.ts";
import { eventually, password } from "./stage.ts";

const stage: MoveStage = await startMoveStage({ after });
const { gateway, node } = stage;
const { context, databaseUrl } = gateway;
const newPassword = "Another-horse-7-battery";

/** Its database and its folder as that release left them. @param commands how many the gateway has sent, and the node received */
async function makeOlder(
  { databaseUrl: url, dataDir }: { databaseUrl: string; dataDir: string },
  commands: { sent: number; received: number },
): Promise<void> {
  await runSql(url, "DELETE FROM node_channels WHERE node_id = 'embedded'");
  await runSql(url, `UPDATE hosting_nodes SET command_counter = ${commands.sent} WHERE id = 'embedded'`);
  for (const name of await readdir(dataDir)) {
    if (name.startsWith("agent")) await rm(join(dataDir, name), { recursive: true });
  }
  const marks = JSON.parse(await readFile(join(dataDir, "marks.json"), "utf8")) as { uid: number };
  await writeFile(join(dataDir, "marks.json"), JSON.stringify({ counter: commands.received, uid: marks.uid }));
}

async function joinAgain(older: TestNode): Promise<void> {
  const url = `http://127.0.0.1:${await gateway.agentsPort()}`;
  await older.join(await createJoinToken(context, "embedded", { url, pin: null }));
}

const statesOf = () =>
  runSql<{ identifier: string; is_live: boolean; version: string; used_files: string }>(
    databaseUrl,
    `SELECT identifier, state IS NOT NULL AS is_live, version, used_files FROM node_states
     WHERE node_id = 'embedded' ORDER BY identifier`,
  );

test("an embedded node without an agent keeps its accounts as they are when it joins, and receives changes from then on", async () => {
  const [open] = [await stage.createOnFirst("open.older.example"), await stage.createOnFirst("closed.older.example")];
  await suspendAccount(context, "closed.older.example", "unpaid");
  await eventually("it is suspended", async () => (await stage.read("closed.older.example")).status === "Suspended");
  const gone = await stage.createOnFirst("gone.older.example");
  await stage.ask("DELETE", "gone.older.example");
  await eventually("it is removed", async () => (await node.driver.find("gone.older.example")) === undefined);
  const { uid: goneUid } = await stage.inside(gone);
  const before = await node.driver.list();
  const recordsOf = async () =>
    Promise.all(
      (await readdir(join(node.dataDir, "accounts")))
        .sort()
        .map((name) => readFile(join(node.dataDir, "accounts", name), "utf8")),
    );
  const records = await recordsOf();

  await node.leave();
  await node.restart(() => makeOlder({ databaseUrl, dataDir: node.dataDir }, { sent: 40, received: 39 }));
  stage.ftp.join(node.ports.ftpPort);
  stage.web.join(node.ports.webPort);
  await joinAgain(node);
  await eventually("it has all states", async () => {
    const [channel] = await runSql<{ is_done: boolean }>(
      databaseUrl,
      "SELECT applied_version = head AND head > 40 AS is_done FROM node_channels WHERE node_id = 'embedded'",
    );
    return channel?.is_done;
  });
  assert.deepEqual(await node.driver.list(), before);
  assert.deepEqual(await recordsOf(), records, "passwords and limits are as they were");
  assert.equal((await pageOf(node, "open.older.example")).body, "open.older.example");
  assert.equal((await pageOf(node, "closed.older.example")).status, 503);
  const files = async () => (await statesOf()).map(({ identifier, used_files }) => `${identifier} ${used_files}`);
  await eventually(
    "usage is reported",
    async () => (await files()).join() === "closed.older.example 1,open.older.example 1",
  );
  assert.ok((await statesOf()).every(({ version }) => Number(version) > 40));
  await assert.rejects(node.driver.ensureAccount({ ...(await theFirst()), uid: goneUid, identifier: "x.example" }), {
    reason: "uid_retired",
  });

  await stage.ask("PUT", "open.older.example/password", { password: newPassword });
  await eventually("it is in force", async () => {
    const { changes_pending } = await stage.read("open.older.example");
    return !changes_pending;
  });
  await upload(
    { host: "127.0.0.1", port: node.ports.ftpPort },
    "open.older.example",
    newPassword,
    "/www/b.html",
    "new",
  );
  await stage.ask("DELETE", "closed.older.example");
  await eventually("it is removed", async () => (await node.driver.find("closed.older.example")) === undefined);
  assert.deepEqual(await stage.story(open), ["requested", "placed", "probed", "password-wanted", "applied"]);
  assert.deepEqual(await listAlarms(context, { all: false, limit: 10 }), []);

  async function theFirst() {
    const [account] = before;
    return { ...account!, passwordHash: undefined };
  }
});

test("such a node that has received a command beyond a restored database removes nothing until an operator decides", async () => {
  await node.leave();
  await node.restart(() => makeOlder({ databaseUrl, dataDir: node.dataDir }, { sent: 40, received: 41 }));
  await joinAgain(node);
  const alarm = await eventually("it is an alarm", async () =>
    (await listAlarms(context, { all: false, limit: 10 })).find(({ kind }) => kind === "hosting-node-restored"),
  );
  assert.equal(alarm.subject, "embedded");
  assert.match(alarm.note ?? "", /knows the version 41 of its accounts/);
});

test("deedhouse start continues on the data folder of that release", async (t) => {
  const { url } = await emptyDatabase(t);
  const folder = await systemFolder(t);
  const env = { ...process.env, DATABASE_URL: url };
  const first = await startSystem(folder, [], { env });
  const { data: packs } = await first.client.listServicePacks();
  const identifier = "kept.older.example";
  await first.client.createHostingAccount({ identifier, servicePackId: packs[0]!.id, password });
  const isReady = (system: typeof first) => async () =>
    (await system.client.getHostingAccount(identifier)).data.status === "Ready";
  await eventually("it is ready", isReady(first));
  await upload(first.ready().ftp, identifier, password, "/www/index.html", "kept");
  assert.equal((await first.kill("SIGINT")).code, 0);
  const dataDir = join(folder, "data", "node");
  await makeOlder({ databaseUrl: url, dataDir }, { sent: 3, received: 3 });
  const records = await readdir(join(dataDir, "accounts"));

  const second = await startSystem(folder, [], { env });
  assert.equal(await isReady(second)(), true);
  const { ftp, web } = second.ready();
  assert.equal((await readPage(web, `${identifier}.localhost`, "/")).body, "kept");
  await second.client.setHostingPassword(identifier, newPassword);
  await eventually("the new password is in force", () =>
    upload(ftp, identifier, newPassword, "/www/index.html", "changed").then(
      () => true,
      () => false,
    ),
  );
  assert.deepEqual(await readdir(join(dataDir, "accounts")), records);
  assert.deepEqual(await runSql(url, "SELECT count(*)::int AS count FROM node_states"), [{ count: 1 }]);
  const joinedAt = () => runSql(url, "SELECT joined_at FROM node_channels WHERE applied_version > 3");
  const before = await joinedAt();
  assert.equal(before.length, 1);
  assert.equal((await second.kill("SIGINT")).code, 0);

  const third = await startSystem(folder, [], { env });
  assert.deepEqual(await joinedAt(), before, "it joins once, although its ports have changed");
  assert.equal((await third.kill("SIGINT")).code, 0);
});
