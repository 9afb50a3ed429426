import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { statement } from "#db/statement.ts";
import { createAgentDriver } from "#hosting/channel/driver.ts";
import { startTestChannel, type TestMachine } from "#hosting/channel/test-channel.ts";
import { systemClock, unixSeconds } from "#lib/clock.ts";
import { join as joinGateway } from "#nodes/agent/join.ts";
import { parseJoinToken } from "#nodes/agent/join-token.ts";
import { holdMs, type ReportBody, reportPath, type SyncBody, syncPath } from "#nodes/agent/messages.ts";
import { signatureHeader, signedHeaders } from "#nodes/agent/request-signature.ts";
import { documentBytesMax, parseState, UntrustedState } from "#nodes/agent/state-document.ts";
import { memoryNode } from "#nodes/agent/test-agent-node.ts";
import { createTransport, type GatewayAnswer } from "#nodes/agent/transport.ts";
import { NodeUnavailable } from "#nodes/driver.ts";
import { testAccount } from "#nodes/test-account.ts";
import { createManualClock } from "../../../test/harness/manual-clock.ts";
import { runSql } from "../../../test/harness/sql.ts";

const readChannel = statement(
  "test-channel-read",
  "SELECT applied_version, refused_count, refused_reason FROM node_channels WHERE node_id = $node_id",
  { applied_version: "int8", refused_count: "int8", refused_reason: "text?" },
);
const askedQuestions = statement("test-questions", "SELECT id::text FROM node_questions WHERE node_id = $node_id", {
  id: "text",
});
const answerParts = statement("test-answer-parts", "SELECT part FROM node_answer_parts", { part: "int4" });

const readCounter = statement(
  "test-channel-counter",
  "SELECT sync_counter FROM node_channels WHERE node_id = $node_id",
  {
    sync_counter: "int8",
  },
);
const insertQuestion = statement(
  "test-question-insert",
  `INSERT INTO node_questions (id, node_id, version, method, identifier, uid, expires_at)
   VALUES ($id, $node_id, 1, 'oneTimeLogin', 'site-1.example', 200001, now() + interval '1 minute')`,
  {},
);

const nothingKnown: SyncBody = { after: -1, head: -1, asked: -1, refused: [], agentVersion: "test", highestUid: 0 };
let counters = 1;

interface Forgery {
  node: string;
  counter: number;
  /** Changes the body after it was signed. */
  tampered: object;
}

function requestOf(machine: TestMachine, path: string, content: object, forgery: Partial<Forgery> = {}) {
  counters += 1;
  const { node = machine.nodeId, counter = counters, tampered } = forgery;
  const body = Buffer.from(JSON.stringify(content));
  const headers = signedHeaders({ path, node, counter }, body, machine.config.privateKey);
  return { path, headers, counter, body: tampered ? Buffer.from(JSON.stringify(tampered)) : body };
}

describe("abuse 28: a node asks for another node's state, replays an old one, forges an acknowledgement", async () => {
  const channel = await startTestChannel({ after });
  const { database } = channel.context;
  const [mine, other] = [await channel.join("web-1"), await channel.join("web-2")];
  const transport = createTransport(mine.config.gateway);
  after(() => transport.close());

  const send = (request: ReturnType<typeof requestOf>): Promise<GatewayAnswer> => {
    const signal = AbortSignal.timeout(2 * holdMs);
    return transport.send({ ...request, answerBytesMax: documentBytesMax, signal });
  };
  const errorOf = ({ status, body }: GatewayAnswer) => [status, JSON.parse(body.toString()).error];
  const read = async (nodeId: string) => (await database.query(readChannel, { node_id: nodeId }))[0]!;
  /** The recorded reason for refusing the request that `run` sends in a node's name. */
  const recorded = async (nodeId: string, run: () => Promise<void>) => {
    const before = await read(nodeId);
    await run();
    const now = await read(nodeId);
    assert.equal(now.refused_count, before.refused_count + 1);
    return now.refused_reason;
  };
  /** Records a desired state without waiting: by this clock, the nodes have been silent for an hour. */
  const clock = createManualClock(unixSeconds(channel.context.clock) + 3_600);
  const desire = async ({ nodeId }: TestMachine, uid: number) => {
    const driver = createAgentDriver({ ...channel.context, clock }, nodeId, { host: "localhost", port: 21 });
    await assert.rejects(driver.ensureAccount(testAccount(`site-${uid}.example`, uid)), NodeUnavailable);
  };

  test("another node's state is not given out", async () => {
    const reason = await recorded("web-2", async () => {
      assert.deepEqual(errorOf(await send(requestOf(mine, syncPath, nothingKnown, { node: "web-2" }))), [
        401,
        "unauthorized",
      ]);
    });
    assert.equal(reason, "not signed by this node");
    for (const node of ["web-9", "../x", ""]) {
      assert.deepEqual(errorOf(await send(requestOf(mine, syncPath, nothingKnown, { node }))), [401, "unauthorized"]);
    }
  });

  test("a request counts once, and a changed one not at all", async () => {
    await desire(mine, 200_001);
    const request = requestOf(mine, syncPath, nothingKnown);
    assert.equal((await send(request)).status, 200);
    const reason = await recorded("web-1", async () => {
      assert.deepEqual(errorOf(await send(request)), [401, "counter_too_low"]);
    });
    assert.equal(reason, "a repeated or late request");
    const tampered = { ...nothingKnown, after: 0 };
    assert.deepEqual(errorOf(await send(requestOf(mine, syncPath, nothingKnown, { tampered }))), [401, "unauthorized"]);
  });

  test("a machine that was replaced while it waited receives nothing more", async () => {
    const machine = await channel.join("web-4");
    const body = { ...nothingKnown, after: 0, head: 0 };
    const held = send(requestOf(machine, syncPath, body, { counter: systemClock.now().getTime() * 1_000 }));
    let counter = 0;
    while (counter === 0) counter = (await database.query(readCounter, { node_id: "web-4" }))[0]!.sync_counter;
    await joinGateway((await channel.token("web-4")).reveal(), machine.configPath, systemClock);
    await desire(machine, 200_004);
    const { status, body: told } = await held;
    assert.deepEqual([status, told.toString()], [204, ""]);
  });

  test("an old state, or another node's, means nothing to a node", async () => {
    await desire(other, 200_002);
    const first = requestOf(mine, syncPath, nothingKnown);
    const old = await send(first);
    const second = requestOf(mine, syncPath, nothingKnown);
    await send(second);
    const theirs = requestOf(other, syncPath, nothingKnown);
    const foreign = await send(theirs);
    const expected = { node: "web-1", after: -1, head: -1, gatewayKey: mine.config.gatewayKey };
    const parse = ({ body, headers }: GatewayAnswer, counter: number) =>
      parseState(body, String(headers[signatureHeader]), { ...expected, counter });
    assert.equal(parse(old, first.counter).node, "web-1");
    assert.throws(() => parse(old, second.counter), UntrustedState);
    assert.throws(() => parse(foreign, theirs.counter), UntrustedState);
  });

  test("what was never issued cannot be acknowledged, and acknowledges nothing", async () => {
    const before = await read("web-1");
    const reason = await recorded("web-1", async () => {
      const forged = { ...nothingKnown, after: 1_000_000, head: 1_000_000 };
      assert.deepEqual(errorOf(await send(requestOf(mine, syncPath, forged))), [409, "node_is_ahead"]);
    });
    assert.equal(reason, "it has applied what was never issued");
    assert.equal((await read("web-1")).applied_version, before.applied_version);
  });

  test("a node cannot answer what another was asked", async () => {
    const finding = other.driver.find("site-1.example");
    let asked: { id: string }[] = [];
    while (asked.length === 0) asked = await database.query(askedQuestions, { node_id: "web-2" });
    const answer = { question: asked[0]!.id, part: 0, parts: 1, text: '{"result":null}' };
    const report: ReportBody = { usage: [], answers: [answer] };
    assert.equal((await send(requestOf(mine, reportPath, report))).status, 204);
    assert.deepEqual(await database.query(answerParts, {}), []);
    assert.equal((await send(requestOf(other, reportPath, report))).status, 204);
    assert.equal(await finding, undefined);
  });

  test("an invalid answer is not repeated in the error, and a long explanation is cut", async () => {
    const explanation = JSON.stringify({ unavailable: "x".repeat(100_000) });
    for (const text of ["one-time-hunter2", explanation]) {
      const asking = other.driver.find("site-2.example").catch((error) => error);
      let asked: { id: string }[] = [];
      while (asked.length === 0) asked = await database.query(askedQuestions, { node_id: "web-2" });
      const answers = [{ question: asked[0]!.id, part: 0, parts: 1, text }];
      assert.equal((await send(requestOf(other, reportPath, { usage: [], answers }))).status, 204);
      const error = await asking;
      assert.ok(error instanceof NodeUnavailable, error);
      assert.ok(error.message.length < 1_000 && !error.message.includes("hunter2"));
    }
  });

  test("a node's reports on accounts of another node are ignored", async () => {
    const usage = [{ identifier: "site-200002.example", uid: 200_002, bytes: 1_000_000, files: 5 }];
    assert.equal((await send(requestOf(mine, reportPath, { usage, answers: [] }))).status, 204);
    const { accounts } = await other.driver.usageChanges({ after: 0, waitMs: 0 });
    assert.deepEqual(accounts, [{ identifier: "site-200002.example", uid: 200_002, bytes: 0, files: 0 }]);
  });

  test("invalid requests get a fixed answer", async () => {
    const wrong = [{ ...nothingKnown, after: "1" }, { ...nothingKnown, after: -2 }, [], { usage: [], answers: {} }];
    for (const content of wrong) {
      for (const path of [syncPath, reportPath]) {
        assert.deepEqual(errorOf(await send(requestOf(mine, path, content))), [400, "not_understood"]);
      }
    }
    assert.deepEqual(errorOf(await send(requestOf(mine, "/accounts", {}))), [404, "not_found"]);
  });

  test("guesses from one address are stopped, and its own nodes keep working", async () => {
    const machine = await channel.join("web-3");
    await machine.start(memoryNode());
    const account = testAccount("site-3.example", 200_003);
    await machine.driver.ensureAccount(account);
    let last = 0;
    for (let guesses = 0; guesses < 40; guesses++) {
      last = (await send(requestOf(mine, syncPath, nothingKnown, { node: "web-7" }))).status;
    }
    assert.equal(last, 429);
    await machine.driver.ensureAccount({ ...account, suspended: true });
  });
});

test("abuse 30: no table of the channel shows a hash, a password of ours or a key", async (t) => {
  const channel = await startTestChannel(t);
  const { database, databaseUrl } = channel.context;
  const machine = await channel.join("web-1");
  const token = parseJoinToken((await channel.token("web-1")).reveal());
  const agent = await machine.start(memoryNode());
  const account = testAccount("site-1.example", 200_001);
  await machine.driver.ensureAccount(account);
  await machine.driver.ensureAccount({ ...account, suspended: true });
  await agent.close();
  // The state while a one-time login is being delivered.
  const question = "0a1b2c3d-4e5f-4061-8293-a4b5c6d7e8f9";
  await database.query(insertQuestion, { id: question, node_id: "web-1" });
  const transport = createTransport(machine.config.gateway);
  const text = '{"result":{"user":"u","password":"one-time-hunter2","certificate":"c"}}';
  const report = { usage: [], answers: [{ question, part: 0, parts: 1, text }] };
  counters = systemClock.now().getTime() * 1_000;
  const request = requestOf(machine, reportPath, report);
  const sent = await transport.send({ ...request, answerBytesMax: 10_000, signal: AbortSignal.timeout(holdMs) });
  transport.close();
  assert.equal(sent.status, 204);
  assert.equal((await database.query(answerParts, {})).length, 1);

  const tables = await runSql<{ name: string }>(
    databaseUrl,
    "SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename LIKE 'node\\_%'",
  );
  assert.ok(tables.length >= 7);
  const pem = machine.config.privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const secrets = [account.passwordHash!.reveal(), "one-time-hunter2", token.secret.reveal(), "PRIVATE KEY", pem];
  for (const { name } of tables) {
    const rows = await runSql<{ row: string }>(databaseUrl, `SELECT kept::text AS row FROM ${name} AS kept`);
    for (const secret of secrets) {
      const hex = Buffer.from(secret).toString("hex");
      assert.ok(!rows.some(({ row }) => row.includes(secret) || row.includes(hex)), `${name} shows a secret`);
    }
  }
});
