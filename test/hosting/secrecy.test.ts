import assert from "node:assert/strict";
import { test } from "node:test";
import { pino } from "pino";
import { statement } from "#db/statement.ts";
import { passwordHashRow } from "#hosting/accounts.ts";
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

test("abuse 30: neither the password nor its hash is in a log, a job, an answer or, in clear, in any table", async (t) => {
  const lines: string[] = [];
  const log = pino({ level: "trace" }, { write: (line: string) => lines.push(line) });
  const stage = await startHostingStage(t, { context: { log } });
  const { gateway, node } = stage;
  const answers: string[] = [];
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
  const jobs = await eventually("the node was tried", async () => {
    const text = await dump(gateway.databaseUrl);
    return text.includes("doubtful") && text;
  });
  stage.control.join();
  answers.push(JSON.stringify(await stage.settled("secret.example")));
  await node.driver.ensureAccount(testAccount("taken.example", 1));
  assert.equal(await post({ ...good, identifier: "taken.example" }), 202);
  const failed = await stage.settled("taken.example");
  assert.equal(failed.status, "Failed");
  answers.push(JSON.stringify(failed));

  for (const secret of [password, `${password}!`]) {
    const session = await TestFtpClient.connect(node.ports.ftpPort);
    await session.client.send("USER secret.example");
    await session.client.send(`PASS ${secret}`);
    session.client.close();
  }

  const [row] = await gateway.context.database.query(sealedHash, ["secret.example"]);
  const hash = gateway.context.sealer.open(passwordHashRow("secret.example"), row!.password_hash_sealed).reveal();
  assert.match(hash, /^\$2b\$/);
  const impossible = testAccount("bad.example", 2, { passwordHash: new Secret(hash), filesMax: -1 });
  await assert.rejects(node.driver.ensureAccount(impossible), /invalid/);
  const places = {
    "the gateway's log": lines.join(""),
    "the node's log": node.logged(),
    "the answers": answers.join("\n"),
    "the database while the node was down": jobs,
    "the database": await dump(gateway.databaseUrl),
  };
  for (const [place, text] of Object.entries(places)) {
    assert.notEqual(text, "", place);
    for (const secret of [password, hash]) {
      for (const form of ["utf8", "hex", "base64"] as const) {
        const written = Buffer.from(secret).toString(form).replace(/=+$/, "");
        assert.ok(!text.includes(written), `${place} has no secret, as ${form}`);
      }
    }
    assert.doesNotMatch(text, /\$2[aby]\$/, `${place} has no hash`);
  }
});

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
