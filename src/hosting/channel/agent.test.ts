import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { listAlarms } from "#alarms.ts";
import { createListener } from "#db/listener.ts";
import { statement } from "#db/statement.ts";
import { createAgentDriver } from "#hosting/channel/driver.ts";
import { startTestChannel } from "#hosting/channel/test-channel.ts";
import { describeRestored, goOnAfterRestore } from "#hosting/nodes/go-on-restored.ts";
import { reportPath, syncPath, type UsageReport } from "#nodes/agent/messages.ts";
import { accountsInDocumentMax } from "#nodes/agent/state-document.ts";
import { memoryNode } from "#nodes/agent/test-agent-node.ts";
import { createTransport } from "#nodes/agent/transport.ts";
import { type DesiredAccount, NodeRefused, type RefusalReason } from "#nodes/driver.ts";
import { testAccount } from "#nodes/test-account.ts";
import { runSql } from "../../../test/harness/sql.ts";

const site = (uid: number, changes: Partial<DesiredAccount> = {}) => testAccount(`site-${uid}.example`, uid, changes);
const refusedFor = (reason: RefusalReason) => (error: unknown) =>
  error instanceof NodeRefused && error.reason === reason;

const fillNode = statement(
  "test-fill-node",
  `WITH filled AS (INSERT INTO node_states (node_id, uid, identifier, version, state)
       SELECT $node_id, 300000 + n, 'site-' || n || '.example', n, jsonb_build_object('identifier', 'site-' || n || '.example',
         'uid', 300000 + n, 'diskBytesMax', 1, 'filesMax', 1, 'sessionsMax', 1, 'ftpEnabled', true, 'suspended', false,
         'hostNames', '[]'::jsonb)
       FROM generate_series(1, $count::int) AS n)
   UPDATE node_channels SET head = $count WHERE node_id = $node_id`,
  {},
);

const readHead = statement("test-channel-head", "SELECT head FROM node_channels WHERE node_id = $node_id", {
  head: "int8",
});

test("a large state arrives in pages, and none of its accounts is lost between two", async (t) => {
  const channel = await startTestChannel(t);
  const machine = await channel.join("web-1");
  const count = 2 * accountsInDocumentMax + 1;
  await channel.context.database.query(fillNode, { node_id: "web-1", count });
  const node = memoryNode();
  await machine.start(node);
  await machine.driver.ensureAccount(site(200_001));
  assert.equal(node.accounts.size, count + 1);
  assert.ok(node.applied.every((size) => size <= accountsInDocumentMax));
  assert.ok(node.applied.length >= 3);
  const listed = await machine.driver.list();
  assert.equal(new Set(listed.map(({ uid }) => uid)).size, count + 1);
});

test("a change that the node refuses is reverted", async (t) => {
  const channel = await startTestChannel(t);
  const machine = await channel.join("web-1");
  const node = memoryNode();
  const agent = await machine.start(node);
  const account = site(200_001);

  node.refusing.set(account.uid, "identifier_taken");
  await assert.rejects(machine.driver.ensureAccount(account), refusedFor("identifier_taken"));
  node.refusing.clear();
  const next = site(200_002, { identifier: account.identifier });
  await machine.driver.ensureAccount(next);
  await machine.driver.remove(next);
  await machine.driver.ensureAccount(account);

  node.refusing.set(account.uid, "invalid");
  await assert.rejects(machine.driver.ensureAccount({ ...account, filesMax: 7 }), refusedFor("invalid"));
  await agent.close();
  const another = memoryNode();
  await machine.start(another, undefined, `${machine.progressFile}.new`);
  await machine.driver.ensureAccount(site(200_003));
  assert.equal(another.accounts.get(account.uid)?.filesMax, account.filesMax);
});

test("several workers wait for one node, and each gets the outcome of its own change", async (t) => {
  const channel = await startTestChannel(t);
  const machine = await channel.join("web-1");
  const node = memoryNode();
  node.refusing.set(200_005, "identifier_taken");
  await machine.start(node);
  const { context } = channel;
  const listener = createListener({ url: context.databaseUrl, clock: context.clock, log: context.log });
  t.after(() => listener.close());
  const ftp = { host: "localhost", port: 21 };
  const workers = [machine.driver, createAgentDriver({ ...context, listener }, "web-1", ftp)];
  const outcomes = await Promise.allSettled(
    Array.from({ length: 10 }, (_, index) => workers[index % 2]!.ensureAccount(site(200_001 + index))),
  );
  assert.deepEqual(
    outcomes.map(({ status }) => status === "fulfilled"),
    outcomes.map((_, index) => index !== 4),
  );
  assert.equal(node.accounts.size, 9);
});

test("a node whose gateway is down keeps working, and catches up later", async (t) => {
  const channel = await startTestChannel(t);
  const machine = await channel.join("web-1");
  const node = memoryNode();
  await machine.start(node);
  await machine.driver.ensureAccount(site(200_001));
  await channel.closeEndpoint();
  const late = machine.driver.ensureAccount(site(200_002));
  await channel.openEndpoint();
  await late;
  assert.deepEqual([...node.accounts.keys()], [200_001, 200_002]);
});

test("a change that is requested while the agent is down is in force once it is back", async (t) => {
  const channel = await startTestChannel(t);
  const machine = await channel.join("web-1");
  const node = memoryNode();
  const agent = await machine.start(node);
  await machine.driver.ensureAccount(site(200_001));
  await agent.close();
  const late = machine.driver.ensureAccount(site(200_001, { suspended: true }));
  await machine.start(node);
  await late;
  assert.equal(node.accounts.get(200_001)?.suspended, true);
});

test("a node that lost its disk receives all states again, including removals", async (t) => {
  const channel = await startTestChannel(t);
  const machine = await channel.join("web-1");
  const former = memoryNode();
  const agent = await machine.start(former);
  for (const uid of [200_001, 200_002, 200_003]) await machine.driver.ensureAccount(site(uid));
  await machine.driver.remove(site(200_002));
  await agent.close();
  const node = memoryNode();
  await machine.start(node, undefined, `${machine.progressFile}.new`);
  await machine.driver.ensureAccount(site(200_003, { suspended: true }));
  assert.deepEqual([...node.accounts.keys()], [200_001, 200_003]);
  assert.deepEqual(
    node.applied.reduce((sum, size) => sum + size),
    3,
  );
});

test("a gateway restored from a backup removes nothing from a node until its operator decides", async (t) => {
  const channel = await startTestChannel(t);
  const machine = await channel.join("web-1");
  const node = memoryNode();
  const agent = await machine.start(node);
  const { context } = channel;
  const { databaseUrl } = context;
  for (const uid of [200_001, 200_002, 200_009]) await machine.driver.ensureAccount(site(uid));
  const tables = ["node_channels", "node_states"];
  for (const table of tables) await runSql(databaseUrl, `CREATE TABLE backup_of_${table} AS TABLE ${table}`);
  await machine.driver.ensureAccount(site(200_001, { suspended: true }));
  await machine.driver.ensureAccount(site(200_003));
  await agent.close();
  await runSql(databaseUrl, "DELETE FROM node_channels");
  for (const table of tables) await runSql(databaseUrl, `INSERT INTO ${table} TABLE backup_of_${table}`);
  const [backup] = await context.database.query(readHead, { node_id: "web-1" });

  // Before the node comes back, more versions are issued than were lost, and a removal is among them.
  const early = [
    ...[200_004, 200_005, 200_006].map((uid) => machine.driver.ensureAccount(site(uid))),
    machine.driver.remove(site(200_009)),
  ].map((told) => assert.rejects(told, /was a backup restored/));
  let head = 0;
  while (head < backup!.head + early.length)
    head = (await context.database.query(readHead, { node_id: "web-1" }))[0]!.head;
  await machine.start(node);
  await Promise.all(early);
  const alarm = async () => (await listAlarms(context, { all: false, limit: 9 })).map(({ kind }) => kind);
  assert.deepEqual(await alarm(), ["hosting-node-restored"]);

  await machine.driver.ensureAccount(site(200_007));
  await assert.rejects(machine.driver.remove(site(200_002)), /nothing is removed on the node web-1/);
  assert.equal(node.accounts.get(200_001)?.suspended, true);
  const all = [1, 2, 3, 4, 5, 6, 7, 9].map((number) => 200_000 + number);
  assert.deepEqual([...node.accounts.keys()].sort(), all);
  assert.equal(await machine.driver.highestUid(), 200_009);

  assert.equal((await describeRestored(context, "web-1")).accountsToResend, 6);
  await goOnAfterRestore(context, "web-1");
  assert.deepEqual(await alarm(), []);
  await machine.driver.remove(site(200_002));
  assert.equal(node.accounts.get(200_001)?.suspended, false, "changes after the backup are undone");
  // The withheld removal is sent now. Accounts that the database does not know stay, for a reconciliation to find.
  assert.deepEqual(
    [...node.accounts.keys()].sort(),
    [1, 3, 4, 5, 6, 7].map((number) => 200_000 + number),
  );
  await assert.rejects(goOnAfterRestore(context, "web-1"), /nothing to do/);
});

test("an expired question, of a worker that was killed, does not keep the agent busy", async (t) => {
  const channel = await startTestChannel(t);
  const machine = await channel.join("web-1");
  const expired = `WITH taken AS (UPDATE node_channels SET head = head + 1 RETURNING head)
    INSERT INTO node_questions (id, node_id, version, method, identifier, uid, expires_at)
    SELECT gen_random_uuid(), 'web-1', head, 'list', '', 0, now() - interval '1 second' FROM taken`;
  await runSql(channel.context.databaseUrl, expired);
  const transport = createTransport(machine.config.gateway);
  const send = transport.send.bind(transport);
  let emptyAnswers = 0;
  transport.send = async (request) => {
    const answer = await send(request);
    if (request.path !== syncPath || answer.status !== 200) return answer;
    const { after, version, questions } = JSON.parse(answer.body.toString("utf8"));
    if (after === version && questions.length === 0) emptyAnswers += 1;
    return answer;
  };
  await machine.start(memoryNode(), transport);
  for (const filesMax of [1, 2, 3, 4, 5]) await machine.driver.ensureAccount(site(200_001, { filesMax }));
  assert.equal(emptyAnswers, 0);
});

test("an answer that is reported together with usage which the gateway refuses arrives", async (t) => {
  const channel = await startTestChannel(t);
  const machine = await channel.join("web-1");
  const node = memoryNode();
  const { usageChanges, find } = node;
  const usage = Promise.withResolvers<{ version: number; accounts: UsageReport[] }>();
  node.usageChanges = (question) => (question.after === 0 ? usage.promise : usageChanges(question));
  const secondFind = Promise.withResolvers<void>();
  node.find = async (identifier) => {
    if (identifier === "second.example") secondFind.resolve();
    return find(identifier);
  };
  const transport = createTransport(machine.config.gateway);
  const send = transport.send.bind(transport);
  const firstReport = Promise.withResolvers<void>();
  const bothWait = Promise.withResolvers<void>();
  const refused: string[] = [];
  transport.send = async (request) => {
    if (request.path !== reportPath) return send(request);
    firstReport.resolve();
    await bothWait.promise;
    const answer = await send(request);
    if (answer.status === 400) refused.push(String(request.body));
    return answer;
  };
  await machine.start(node, transport);
  const first = machine.driver.find("first.example");
  await firstReport.promise;
  usage.resolve({ version: 1, accounts: [{ identifier: "site.example", uid: 200_001, bytes: -1, files: 0 }] });
  const second = machine.driver.find("second.example");
  await secondFind.promise;
  // Its answer is queued by then.
  await setImmediate();
  bothWait.resolve();
  assert.deepEqual(await Promise.all([first, second]), [undefined, undefined]);
  assert.match(refused[0] ?? "", /"bytes":-1.*"question"|"question".*"bytes":-1/);
});
