import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { Client } from "pg";
import { pino } from "pino";
import { statement } from "#db/statement.ts";
import { reportAccount, reportAccounts } from "#hosting/account-report.ts";
import { passwordHashRow } from "#hosting/accounts.ts";
import { suspendAccount } from "#hosting/suspend.ts";
import { Secret } from "#lib/secret.ts";
import { TestFtpClient } from "../../src/nodes/embedded/ftp/test-ftp-client.ts";
import { testAccount } from "../../src/nodes/embedded/test-node.ts";
import { runSql } from "../harness/sql.ts";
import { eventually, password, startHostingStage } from "./stage.ts";

const sealedHash = statement(
  "test-hosting-sealed-hash",
  "SELECT password_hash_sealed FROM hosting_accounts WHERE identifier = $1",
  { password_hash_sealed: "bytea" },
);

const newPassword = "Another-horse-8-stable";

test("abuse 30: no password or hash is in a log, job, notification, answer, report or, in clear, in any table", async (t) => {
  const lines: string[] = [];
  const log = pino({ level: "trace" }, { write: (line: string) => lines.push(line) });
  const stage = await startHostingStage(t, { context: { log } });
  const { gateway, node } = stage;
  const notified = await listenToAll(t, gateway.databaseUrl);
  const answers: string[] = [];
  const doubts = async () => {
    const sql = "SELECT coalesce(sum(count), 0)::int4 AS tries FROM hosting_history WHERE event = 'doubtful'";
    return (await runSql<{ tries: number }>(gateway.databaseUrl, sql))[0]?.tries ?? 0;
  };
  const readSealed = async () => {
    const [row] = await gateway.context.database.query(sealedHash, ["secret.example"]);
    return row?.password_hash_sealed ?? assert.fail("there is no such account");
  };
  const post = async (body: object, headers = {}) => {
    const reply = await gateway.send(stage.reseller, "POST", "/v1/hostingaccounts", { body, headers });
    answers.push(JSON.stringify(reply));
    return reply.status;
  };
  const good = { servicepack_id: stage.packId, identifier: "secret.example", password };
  const key = { "idempotency-key": "once" };

  // Everything that can happen to a password: refused, taken, repeated, kept from a node, refused by it.
  assert.equal(await post({ ...good, identifier: "not a name" }), 400);
  assert.equal(await post({ ...good, servicepack_id: "999" }), 400);
  assert.equal(await post({ ...good, password: `${password}\r\n` }), 400);
  stage.control.cut();
  assert.equal(await post(good, key), 202);
  assert.equal(await post(good, key), 202);
  assert.equal(await post({ ...good, password: `${password}!` }, key), 422);
  assert.equal(await post(good), 400);
  await eventually("the node was tried", async () => (await doubts()) > 0);
  const jobs = await dump(gateway.databaseUrl);
  stage.control.join();
  answers.push(JSON.stringify(await stage.settled("secret.example")));
  await node.driver.ensureAccount(testAccount("taken.example", 1));
  assert.equal(await post({ ...good, identifier: "taken.example" }), 202);
  const failed = await stage.settled("taken.example");
  assert.equal(failed.status, "Failed");
  answers.push(JSON.stringify(failed));

  const sealedFirst = await readSealed();
  const put = async (body: object) => {
    const reply = await gateway.send(stage.reseller, "PUT", "/v1/hostingaccounts/secret.example/password", { body });
    answers.push(JSON.stringify(reply));
    return reply.status;
  };
  const before = await doubts();
  stage.control.cut();
  assert.equal(await put({ password: `${newPassword}\0` }), 400);
  assert.equal(await put({ password: newPassword }), 202);
  await suspendAccount(gateway.context, "secret.example", "unpaid");
  const [account] = await reportAccounts(gateway.context, { status: "Ready", isPending: true, limit: 1 });
  await eventually("the change was tried", async () => (await doubts()) > before);
  const waiting = await dump(gateway.databaseUrl);
  answers.push(JSON.stringify(await gateway.send(stage.reseller, "GET", "/v1/hostingaccounts/secret.example/history")));
  const report = JSON.stringify([account, await reportAccount(gateway.context, "secret.example")]);
  const sealedSecond = await readSealed();
  stage.control.join();
  await eventually("the change is in force", async () => !(await stage.read("secret.example")).changes_pending);

  for (const secret of [password, `${password}!`, newPassword]) {
    const session = await TestFtpClient.connect(node.ports.ftpPort);
    await session.client.send("USER secret.example");
    await session.client.send(`PASS ${secret}`);
    session.client.close();
  }

  const open = (sealed: Buffer) => gateway.context.sealer.open(passwordHashRow("secret.example"), sealed).reveal();
  const hash = open(sealedFirst);
  const newHash = open(sealedSecond);
  for (const made of [hash, newHash]) assert.match(made, /^\$2b\$/);
  const impossible = testAccount("bad.example", 2, { passwordHash: new Secret(hash), filesMax: -1 });
  await assert.rejects(node.driver.ensureAccount(impossible), /invalid/);
  const places = {
    "the gateway's log": lines.join(""),
    "the node's log": node.logged(),
    "the answers": answers.join("\n"),
    "the database while the node was down": jobs,
    "the database while the change waited": waiting,
    "the operator's report": report,
    "the database": await dump(gateway.databaseUrl),
    "the notifications": notified.join("\n"),
  };
  await stage.ask("DELETE", "secret.example");
  await eventually("it is removed", async () => (await readSealed()).length === 0);

  for (const [place, text] of Object.entries(places)) {
    assert.notEqual(text, "", place);
    for (const secret of [password, hash, newPassword, newHash]) {
      for (const form of ["utf8", "hex", "base64"] as const) {
        const written = Buffer.from(secret).toString(form).replace(/=+$/, "");
        assert.ok(!text.includes(written), `${place} has no secret, as ${form}`);
      }
    }
    assert.doesNotMatch(text, /\$2[aby]\$/, `${place} has no hash`);
  }
});

/** What is told on each channel that something here listens to. */
async function listenToAll(t: TestContext, databaseUrl: string): Promise<string[]> {
  const told: string[] = [];
  const client = new Client({ connectionString: databaseUrl });
  client.on("error", () => {});
  client.on("notification", ({ channel, payload }) => told.push(`${channel} ${payload}`));
  await client.connect();
  t.after(() => client.end());
  const channels = [
    "account_changed",
    "hosting_node_changed",
    "jobs:insert",
    "node_desired",
    "node_applied",
    "node_usage",
  ];
  for (const channel of channels) await client.query(`LISTEN "${channel}"`);
  return told;
}

/** Every row of every table, the queue's included, as text. */
async function dump(databaseUrl: string): Promise<string> {
  const tables = await runSql<{ name: string }>(
    databaseUrl,
    `SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
     WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
  );
  const rows: string[] = [];
  for (const { name } of tables) {
    const found = await runSql<{ text: string }>(databaseUrl, `SELECT dumped::text AS text FROM ${name} AS dumped`);
    rows.push(`${name}:`, ...found.map(({ text }) => text));
  }
  return rows.join("\n");
}
