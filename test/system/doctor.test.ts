import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { raiseAlarm } from "#alarms.ts";
import { pauseCreates } from "#domains/registry/pause.ts";
import { masterKey, startTestGateway, type TestGateway } from "../harness/gateway.ts";
import { eventually, runTool } from "../harness/running-system.ts";
import { runSql } from "../harness/sql.ts";

interface Finding {
  check: string;
  result: string;
  text: string;
  advice?: string;
}

/** Runs `deedhouse doctor` as an operator of this database would; more of the environment comes from `env`. */
async function examine(t: TestContext, databaseUrl: string, env: Record<string, string> = {}) {
  const folder = mkdtempSync(join(tmpdir(), "deedhouse-doctor-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const keyFile = join(folder, "master.key");
  writeFileSync(keyFile, `1:${masterKey.toString("hex")}`, { mode: 0o600 });
  const { PATH = "" } = process.env;
  const settings = {
    DATABASE_URL: databaseUrl,
    DEEDHOUSE_MASTER_KEY_FILE: keyFile,
    DEEDHOUSE_PROFILES: join(folder, "none"),
  };
  const { code, stdout, stderr } = await runTool(["doctor", "--json"], { env: { PATH, ...settings, ...env } });
  assert.equal(stderr, "");
  return { code, findings: JSON.parse(stdout) as Finding[] };
}

const said = (findings: Finding[]) => findings.map(({ check, result }) => `${result} ${check}`);

async function startComplete(t: TestContext): Promise<TestGateway> {
  const gateway = await startTestGateway(t, { node: true });
  await eventually(
    "the worker is seen",
    async () => (await runSql(gateway.databaseUrl, "SELECT FROM workers")).length > 0,
  );
  await eventually(
    "it has a session",
    async () => (await runSql(gateway.databaseUrl, "SELECT FROM registries")).length > 0,
  );
  return gateway;
}

test("a sound installation has no fault, from the reseller's signature to the nodes", async (t) => {
  const gateway = await startComplete(t);
  const { key } = await gateway.addReseller();
  const { code, findings } = await examine(t, gateway.databaseUrl, {
    DEEDHOUSE_URL: gateway.url,
    DEEDHOUSE_API_KEY: key.id,
    DEEDHOUSE_API_SECRET: key.secret.reveal(),
  });
  const ok = [
    "service",
    "clock",
    "signature",
    "database",
    "database clock",
    "workers",
    "registry sandbox",
    "node embedded",
  ];
  assert.deepEqual(
    said(findings).filter((line) => !line.includes("alarm")),
    ok.map((check) => `ok ${check}`),
  );
  assert.equal(code, 0);
});

test("a registry and a node that are away, a pause and open alarms come with what to do", async (t) => {
  const gateway = await startComplete(t);
  const { context, databaseUrl } = gateway;
  await pauseCreates(context, "sandbox", "operator", "prices change");
  await raiseAlarm(context, { kind: "hosting-node-away", subject: "embedded", note: "has not answered" });
  const away = await examine(t, databaseUrl);
  assert.ok(said(away.findings).includes("warning registry sandbox"));
  assert.ok(said(away.findings).includes("fault node embedded"));
  const alarm = away.findings.find(({ check }) => check === "alarm");
  assert.match(`${alarm?.text} ${alarm?.advice}`, /hosting-node-away embedded: has not answered .*alarms resolve/);
  assert.equal(away.code, 1);
  await gateway.stopWorker();
  const stopped = await examine(t, databaseUrl);
  assert.ok(said(stopped.findings).includes("fault workers"));
  assert.match(
    stopped.findings.find(({ check }) => check === "registry sandbox")?.advice ?? "",
    /Start deedhouse worker/,
  );
});

test("a schema that is too old or too new, and a database that is away, are named", async (t) => {
  const { databaseUrl } = await startTestGateway(t, { worker: false });
  const first = async () => (await examine(t, databaseUrl)).findings[0];
  await runSql(databaseUrl, "INSERT INTO migrations (number, name, sha256) VALUES (9998, '9998-next.sql', '')");
  assert.equal((await first())?.text, "it answers, and has this version's schema, or the next one's");
  await runSql(
    databaseUrl,
    "INSERT INTO migrations (number, name, sha256, level) VALUES (9999, '9999-later.sql', '', 'contract')",
  );
  const later = await first();
  assert.match(`${later?.result} ${later?.text}`, /^fault .*9999-later.sql/);
  await runSql(databaseUrl, "DELETE FROM migrations WHERE number > 9000");
  await runSql(databaseUrl, "DELETE FROM migrations WHERE number = (SELECT max(number) FROM migrations)");
  const old = await first();
  assert.match(`${old?.result} ${old?.text} ${old?.advice}`, /^fault .*lacks 1 .* Run deedhouse migrate/);
  const [gone] = (await examine(t, "postgres://127.0.0.1:1/none")).findings;
  assert.match(`${gone?.result} ${gone?.advice}`, /^fault .*PostgreSQL/);
});

test("without credentials and without a database there is nothing to check, and the tool says what to give", async () => {
  const { PATH = "" } = process.env;
  const env = { PATH, DEEDHOUSE_PROFILES: "/nonexistent/profiles.json" };
  const { code, stderr } = await runTool(["doctor"], { env });
  assert.equal(code, 2);
  assert.match(stderr, /nothing to check\nResellers: give --profile.*\nOperators: give --data/);
});
