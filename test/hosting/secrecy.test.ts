import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { Client } from "pg";
import { pino } from "pino";
import { statement } from "#db/statement.ts";
import { passwordHashRow } from "#hosting/accounts/accounts.ts";
import { reportAccount, reportAccounts } from "#hosting/accounts/report.ts";
import { suspendAccount } from "#hosting/accounts/suspend.ts";
import { Secret } from "#lib/secret.ts";
import { TestFtpClient } from "#nodes/embedded/ftp/test-ftp-client.ts";
import { testAccount } from "#nodes/test-account.ts";
import { dumpDatabase, runSql } from "../harness/sql.ts";
import { eventually, type HostingStage, password, startHostingStage } from "./stage.ts";

const sealedHash = statement(
  "test-hosting-sealed-hash",
  "SELECT password_hash_sealed FROM hosting_accounts WHERE identifier = $1",
  { password_hash_sealed: "bytea" },
);

const newPassword = "Another-horse-8-stable";

interface Observed {
  stage: HostingStage;
  /** Sends a request and stores its answer. */
  send(method: string, path: string, body?: object, headers?: Record<string, string>): Promise<number>;
  /** How many attempts failed. */
  doubts(): Promise<number>;
  /** The unsealed hash of the account's row, if it has one. */
  readHash(identifier: string): Promise<string | undefined>;
  /** Searches for secrets in all logs, answers, notifications and tables, and in these places. */
  assertNone(secrets: string[], places: Record<string, string>): Promise<void>;
}

async function observe(t: TestContext): Promise<Observed> {
  const lines: string[] = [];
  const log = pino({ level: "trace" }, { write: (line: string) => lines.push(line) });
  const stage = await startHostingStage(t, { context: { log } });
  const { gateway, node, reseller } = stage;
  const notified = await listenToAll(t, gateway.databaseUrl);
  const answers: string[] = [];
  return {
    stage,
    async send(method, path, body, headers = {}) {
      const reply = await gateway.send(reseller, method, `/v1/hostingaccounts${path}`, { body, headers });
      answers.push(JSON.stringify(reply));
      return reply.status;
    },
    async doubts() {
      const sql = "SELECT coalesce(sum(count), 0)::int4 AS tries FROM hosting_history WHERE event = 'doubtful'";
      return (await runSql<{ tries: number }>(gateway.databaseUrl, sql))[0]?.tries ?? 0;
    },
    async readHash(identifier) {
      const [row] = await gateway.context.database.query(sealedHash, [identifier]);
      if (!row || row.password_hash_sealed.length === 0) return undefined;
      const hash = gateway.context.sealer.open(passwordHashRow(identifier), row.password_hash_sealed).reveal();
      assert.match(hash, /^\$2b\$/);
      return hash;
    },
    async assertNone(secrets, places) {
      const everywhere = {
        ...places,
        "the logs of gateway and node": lines.join("") + node.logged(),
        "the answers": answers.join("\n"),
        "the notifications": notified.join("\n"),
        "the database": await dumpDatabase(gateway.databaseUrl),
      };
      for (const [place, text] of Object.entries(everywhere)) assertNoSecret(place, text, secrets);
    },
  };
}

function assertNoSecret(place: string, text: string, secrets: string[]): void {
  assert.notEqual(text, "", place);
  for (const secret of secrets) {
    for (const form of ["utf8", "hex", "base64"] as const) {
      const written = Buffer.from(secret).toString(form).replace(/=+$/, "");
      assert.ok(!text.includes(written), `${place} has no secret, as ${form}`);
    }
  }
  assert.doesNotMatch(text, /\$2[aby]\$/, `${place} has no hash`);
}

async function tryToLogIn(port: number, secrets: string[]): Promise<void> {
  for (const secret of secrets) {
    const session = await TestFtpClient.connect(port);
    await session.client.send("USER secret.example");
    await session.client.send(`PASS ${secret}`);
    session.client.close();
  }
}

test("abuse 30: neither a new account's password nor its hash is in a log, job, notification, answer or, in clear, in any table", async (t) => {
  const { stage, send, doubts, readHash, assertNone } = await observe(t);
  const { gateway, node } = stage;
  const post = (body: object, headers = {}) => send("POST", "", body, headers);
  const good = { servicepack_id: stage.packId, identifier: "secret.example", password };
  const key = { "idempotency-key": "once" };

  // All cases of a password: refused, accepted, repeated, not sent to a node that is down, refused by the node.
  assert.equal(await post({ ...good, identifier: "not a name" }), 400);
  assert.equal(await post({ ...good, servicepack_id: "999" }), 400);
  assert.equal(await post({ ...good, password: `${password}\r\n` }), 400);
  await stage.agentLeaves();
  assert.equal(await post(good, key), 202);
  assert.equal(await post(good, key), 202);
  assert.equal(await post({ ...good, password: `${password}!` }, key), 422);
  assert.equal(await post(good), 400);
  await eventually("the node was called", async () => (await doubts()) > 0);
  const jobs = await dumpDatabase(gateway.databaseUrl);
  await stage.agentReturns();
  await stage.settled("secret.example");
  assert.equal(await send("GET", "/secret.example"), 200);
  await node.driver.ensureAccount(testAccount("taken.example", 1));
  assert.equal(await post({ ...good, identifier: "taken.example" }), 202);
  assert.equal((await stage.settled("taken.example")).status, "Failed");
  assert.equal(await send("GET", "/taken.example"), 200);

  await tryToLogIn(node.ports.ftpPort, [password, `${password}!`]);
  const hash = (await readHash("secret.example")) ?? assert.fail("there is no hash");
  const impossible = testAccount("bad.example", 2, { passwordHash: new Secret(hash), filesMax: -1 });
  await assert.rejects(node.driver.ensureAccount(impossible), /invalid/);
  await assertNone([password, hash], { "the database while the node was down": jobs });
});

test("abuse 30: nor is a new password, while it waits for its node, in a report or after the account's removal", async (t) => {
  const { stage, send, doubts, readHash, assertNone } = await observe(t);
  const { gateway, node } = stage;
  const { context } = gateway;
  await stage.create("secret.example");
  await stage.settled("secret.example");
  const hash = (await readHash("secret.example")) ?? assert.fail("there is no hash");

  await stage.agentLeaves();
  assert.equal(await send("PUT", "/secret.example/password", { password: `${newPassword}\0` }), 400);
  assert.equal(await send("PUT", "/secret.example/password", { password: newPassword }), 202);
  await suspendAccount(context, "secret.example", "unpaid");
  await eventually("the change was attempted", async () => (await doubts()) > 0);
  const waiting = await dumpDatabase(gateway.databaseUrl);
  assert.equal(await send("GET", "/secret.example/history"), 200);
  const [listed] = await reportAccounts(context, { isPending: true, limit: 1 });
  const report = JSON.stringify([listed, await reportAccount(context, "secret.example")]);
  const newHash = (await readHash("secret.example")) ?? assert.fail("there is no hash");
  await stage.agentReturns();
  await eventually("the change is in force", async () => !(await stage.read("secret.example")).changes_pending);
  await tryToLogIn(node.ports.ftpPort, [password, newPassword]);

  assert.equal(await send("DELETE", "/secret.example"), 202);
  await eventually("its hash is deleted with it", async () => (await readHash("secret.example")) === undefined);
  const places = { "the database while the change waited": waiting, "the operator's report": report };
  await assertNone([password, hash, newPassword, newHash], places);
});

/** The payloads on each notification channel. */
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
