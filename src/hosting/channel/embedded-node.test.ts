import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { startTestChannel } from "#hosting/channel/test-channel.ts";
import { testAccount } from "#nodes/test-account.ts";
import { forkNode } from "#nodes/test-embedded-node.ts";

test("the process of an embedded node joins with a token, and needs none at its next start", async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), "deedhouse-node-"));
  t.after(() => rm(dataDir, { recursive: true }));
  const channel = await startTestChannel(t);
  const { driver } = await channel.join("web-1");
  const tokenFile = join(dataDir, "token");
  await writeFile(tokenFile, (await channel.token("web-1")).reveal());
  const account = testAccount("a.example", 200_001);
  const withToken = { DEEDHOUSE_NODE_TOKEN_FILE: tokenFile };
  for (const own of [withToken, withToken, {}]) {
    const child = forkNode(dataDir, own);
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
