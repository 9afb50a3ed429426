import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { emptyDatabase } from "../harness/database.ts";
import { startOldPostgres } from "../harness/old-postgres.ts";
import { processesOf, runTool, systemFolder } from "../harness/running-system.ts";

const folder = await systemFolder({ after });
const registries = join(folder, "registries.json");
await mkdir(join(folder, "replay"));
await writeFile(registries, "[]", { mode: 0o600 });
const settings = {
  DEEDHOUSE_DEPLOYMENT: "sandbox",
  DEEDHOUSE_LOG_LEVEL: "silent",
  DEEDHOUSE_MASTER_KEY: `1:${"5a".repeat(31)}00`,
  DEEDHOUSE_REPLAY_DIR: join(folder, "replay"),
  DEEDHOUSE_REGISTRIES_FILE: registries,
};
const sentence =
  "deedhouse: The database server is PostgreSQL 14.19, and Deedhouse needs version 15 or later: upgrade the server, or set DATABASE_URL to a newer one.\n";

for (const command of [
  ["api"],
  ["worker"],
  ["migrate"],
  ["start", "--data", join(folder, "data"), "--port-base", "0"],
]) {
  test(`\`${command[0]}\` refuses a PostgreSQL that is too old, and says which it found and what to do`, async (t) => {
    const { url, queries } = await startOldPostgres(t, 140_019);
    const env = { ...process.env, ...(command.length === 1 && settings), DATABASE_URL: url };
    const { code, stderr } = await runTool(command, { env });
    assert.equal(stderr, sentence);
    assert.equal(code, { migrate: 3, start: 1 }[command[0]!] ?? 2);
    const changes = queries.filter((query) => !/^(SHOW|LISTEN|SELECT)\b/.test(query));
    assert.deepEqual(changes, [], "it changes nothing");
    assert.deepEqual(processesOf(join(folder, "data")), []);
  });
}

test("a PostgreSQL that is not too old is accepted", async (t) => {
  const { url } = await emptyDatabase(t);
  const { code, stderr } = await runTool(["migrate"], { env: { ...process.env, DATABASE_URL: url } });
  assert.equal(code, 0, stderr);
});
