import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, test } from "node:test";
import { emptyDatabase } from "../harness/database.ts";
import { runTool, startSystem, systemFolder } from "../harness/running-system.ts";
import { runSql } from "../harness/sql.ts";

const folder = await systemFolder({ after });

test("uses the database of DATABASE_URL, as the operator's commands do, and says that it serves no other registries", async (t) => {
  const { url } = await emptyDatabase(t);
  const env = { ...process.env, DATABASE_URL: url };
  const migrated = await runTool(["migrate", "--json"], { env });
  assert.equal(migrated.code, 0, migrated.stderr);
  assert.ok((JSON.parse(migrated.stdout) as { migrations: string[] }).migrations.includes("0001-baseline.sql"));

  const system = await startSystem(folder, [], { env: { ...env, DEEDHOUSE_REGISTRIES_FILE: "mine.json" } });
  const { database_url, pids } = system.ready();
  assert.equal(database_url, url);
  assert.deepEqual(Object.keys(pids).sort(), ["api", "dns", "node", "registry", "worker"]);
  for (const part of ["node", "registry"]) {
    const entries = readFileSync(`/proc/${pids[part]}/environ`, "utf8").split("\0");
    assert.ok(!entries.some((entry) => entry.startsWith("DATABASE_URL=")), part);
  }
  assert.equal((await system.send("GET", "/servicepacks")).status, 200);
  assert.deepEqual(await runSql(url, "SELECT name FROM resellers"), [{ name: "sandbox" }]);
  const { code } = await system.kill("SIGINT");
  assert.equal(code, 0);
  assert.match(system.stdout(), /registries of DEEDHOUSE_REGISTRIES_FILE are not served here/);
});
