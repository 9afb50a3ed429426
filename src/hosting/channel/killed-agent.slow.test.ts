import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { ChildSettings, Moment } from "#hosting/channel/test-agent-child.ts";
import { startTestChannel } from "#hosting/channel/test-channel.ts";
import { NodeUnavailable } from "#nodes/driver.ts";
import { testAccount } from "#nodes/test-account.ts";

const childFile = fileURLToPath(new URL("test-agent-child.ts", import.meta.url));
const attemptsMax = 5;
const moments: Moment[] = [
  "after receiving",
  "after verifying",
  "after applying",
  "before acknowledging",
  "after acknowledging",
];

/** Retries, as workers do. */
async function retried(operation: () => Promise<void>): Promise<void> {
  for (let attempts = 1; ; attempts++) {
    try {
      return await operation();
    } catch (error) {
      if (!(error instanceof NodeUnavailable) || attempts === attemptsMax) throw error;
    }
  }
}

describe("an agent that is killed", async () => {
  const dataDir = await mkdtemp(join(tmpdir(), "deedhouse-node-"));
  const channel = await startTestChannel({ after });
  after(() => rm(dataDir, { recursive: true }));
  const machine = await channel.join("web-1");

  function startChild(t: TestContext, killedWhen?: Moment) {
    const settings: ChildSettings = {
      configPath: machine.configPath,
      progressFile: machine.progressFile,
      dataDir,
      ...(killedWhen && { killedWhen }),
    };
    const child = spawn(process.execPath, [childFile, JSON.stringify(settings)], {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    t.after(() => child.kill("SIGKILL"));
    return { child, ended: once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]> };
  }

  for (const [index, moment] of moments.entries()) {
    test(`${moment} a state leaves nothing undone and nothing twice`, async (t) => {
      const account = testAccount(`site-${index}.example`, 200_001 + index);
      const killed = startChild(t, moment);
      const made = retried(() => machine.driver.ensureAccount(account));
      // The next change arrives after the acknowledgement of this one.
      if (moment === "after acknowledging") await made;
      const suspending = () => machine.driver.ensureAccount({ ...account, suspended: true });
      const suspended = moment === "after acknowledging" ? retried(suspending) : undefined;
      assert.deepEqual(await killed.ended, [null, "SIGKILL"]);

      const successor = startChild(t);
      await made;
      await suspended;
      await machine.driver.ensureAccount(account);
      await machine.driver.probe(account);
      const found = (await machine.driver.list()).filter(({ identifier }) => identifier === account.identifier);
      assert.deepEqual(
        found.map(({ uid }) => uid),
        [account.uid],
      );
      assert.equal((await readdir(join(dataDir, "homes"))).length, index + 1);
      successor.child.kill("SIGTERM");
      assert.deepEqual(await successor.ended, [0, null]);
    });
  }
});
