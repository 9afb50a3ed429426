import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { startTestChannel } from "#hosting/channel/test-channel.ts";
import { testAccount } from "#nodes/test-account.ts";

const program = join(import.meta.dirname, "../../../bin/deedhouse.ts");

test("the process of an embedded node joins with a token, and needs none at its next start", async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), "deedhouse-node-"));
  t.after(() => rm(dataDir, { recursive: true }));
  const channel = await startTestChannel(t);
  const { driver } = await channel.join("web-1");
  const tokenFile = join(dataDir, "token");
  await writeFile(tokenFile, (await channel.token("web-1")).reveal());
  const env = {
    ...process.env,
    DEEDHOUSE_LOG_LEVEL: "silent",
    DEEDHOUSE_NODE_DATA_DIR: dataDir,
    DEEDHOUSE_NODE_FTP_PORT: "0",
    DEEDHOUSE_NODE_WEB_PORT: "0",
  };
  const account = testAccount("a.example", 200_001);
  for (const own of [{ DEEDHOUSE_NODE_TOKEN_FILE: tokenFile }, { DEEDHOUSE_NODE_TOKEN_FILE: tokenFile }, {}]) {
    const child = fork(program, ["node"], { env: { ...env, ...own } });
    const exited = once(child, "exit");
    t.after(() => child.kill("SIGKILL"));
    await Promise.race([once(child, "message"), exited]);
    assert.equal(child.exitCode, null, "the process ended at its start");
    await driver.ensureAccount(account);
    await driver.probe(account);
    assert.equal((await driver.list()).length, 1);
    child.kill("SIGTERM");
    assert.deepEqual(await exited, [0, null]);
  }
});
