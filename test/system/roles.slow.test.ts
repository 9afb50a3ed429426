import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { runTool, systemFolder } from "../harness/running-system.ts";
import { startOwnServer } from "../harness/standby.ts";

const folder = await systemFolder({ after });
const { DATABASE_URL: _, ...surroundings } = process.env;
const settings = {
  DATABASE_URL: "postgres://127.0.0.1:1/none",
  DEEDHOUSE_MASTER_KEY: `1:${"5a".repeat(31)}00`,
  DEEDHOUSE_REPLAY_DIR: join(folder, "replay"),
  DEEDHOUSE_REGISTRIES_FILE: join(folder, "registries.json"),
  DEEDHOUSE_SITE_DOMAIN: "sites.example",
};
await writeFile(settings.DEEDHOUSE_REGISTRIES_FILE, "[]", { mode: 0o600 });
const run = (role: string, own: Record<string, string>) => runTool([role], { env: { ...surroundings, ...own } });

for (const role of ["api", "worker"]) {
  test(`the ${role} names every missing setting, and no line of our code`, async () => {
    const { DATABASE_URL: _url, DEEDHOUSE_REPLAY_DIR: _dir, ...some } = settings;
    const { code, stderr } = await run(role, some);
    assert.match(
      stderr,
      /^deedhouse: these settings are wrong or unsafe:\n {2}DATABASE_URL is not set\n {2}DEEDHOUSE_REPLAY_DIR /,
    );
    assert.doesNotMatch(stderr, /\.ts:/);
    assert.equal(code, 2);
  });

  test(`the ${role} names the setting whose file is missing`, async () => {
    const { DEEDHOUSE_MASTER_KEY: _key, ...some } = settings;
    const { code, stderr } = await run(role, { ...some, DEEDHOUSE_MASTER_KEY_FILE: join(folder, "none.key") });
    assert.match(stderr, /^deedhouse: DEEDHOUSE_MASTER_KEY_FILE cannot be read: ENOENT[^\n]*none\.key'\n$/);
    assert.equal(code, 2);
  });

  test(`the ${role} names the registry's file that it cannot use`, async () => {
    const file = join(folder, "no-list.json");
    await writeFile(file, "{}", { mode: 0o600 });
    const { code, stderr } = await run(role, { ...settings, DEEDHOUSE_REGISTRIES_FILE: file });
    assert.match(stderr, /^deedhouse: [^\n]*no-list\.json: it must be an array of profiles[^\n]*\n$/);
    assert.equal(code, 2);
  });

  test(`the ${role} says to migrate a database that has not been`, async (t) => {
    // Production refuses a server that may lose commits.
    const { url } = await startOwnServer(t, { fsync: "on" });
    const { code, stderr } = await run(role, { ...settings, DATABASE_URL: url });
    assert.match(stderr, /^deedhouse: DATABASE_URL: the database lacks \d+ .*: run deedhouse migrate\n$/);
    assert.equal(code, 2);
  });
}

for (const command of ["api", "worker", "migrate", "alarms list"]) {
  test(`${command} says that PostgreSQL is unreachable, and at which address`, async () => {
    const env = { ...surroundings, ...settings, DEEDHOUSE_LOG_LEVEL: "silent" };
    const { code, stderr } = await runTool(command.split(" "), { env });
    assert.match(
      stderr,
      /^deedhouse: the database is unavailable: PostgreSQL does not answer at 127\.0\.0\.1:1 \(ECONNREFUSED\)\n/,
    );
    assert.equal(code, ["api", "worker"].includes(command) ? 1 : 8);
  });
}

test("prints its version", async () => {
  const { code, stdout } = await runTool(["--version"]);
  assert.match(stdout, /^[0-9]+\.[0-9]+\.[0-9]+\n$/);
  assert.equal(code, 0);
});
