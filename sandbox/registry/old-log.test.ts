import assert from "node:assert/strict";
import { appendFile, copyFile, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { startSandboxRegistry } from "./server.ts";
import { infoFrame, pollFrame } from "./test/frames.ts";
import { RawClient, textOf } from "./test/raw-client.ts";
import { registrars } from "./test/setup.ts";

const options = { suffixes: ["test"], registrars, pendingDelayMs: 60_000 };

/** A data folder with the log that an earlier release wrote. */
async function folderWithLog(context: TestContext): Promise<{ dataDir: string; log: string }> {
  const dataDir = await mkdtemp(join(tmpdir(), "sandbox-registry-test-"));
  context.after(() => rm(dataDir, { recursive: true }));
  const log = join(dataDir, "registry.jsonl");
  await copyFile(join(import.meta.dirname, "test/earlier-release.jsonl"), log);
  return { dataDir, log };
}

test("imports names, pending messages, journal, clock and numbers of an earlier release", async (context) => {
  const { dataDir } = await folderWithLog(context);
  const registry = await startSandboxRegistry({ ...options, dataDir, now: () => new Date("2026-11-23T10:02:00Z") });
  context.after(() => registry.close());
  assert.equal(registry.now().toISOString(), "2026-11-23T10:02:01.000Z", "the clock was advanced by a second");
  assert.deepEqual(
    registry.store.domains.values().map(({ name }) => name),
    ["a.test", "pending-approve-a.test"],
  );
  assert.deepEqual(registry.store.firedLabels.values(), [{ key: "once-2400-a.test" }]);
  assert.equal(registry.store.journal.entries({ name: "a.test", executed: true })[0]?.clTRID, "order-1");
  const client = await RawClient.login(registry);
  const info = await client.ask(infoFrame("a.test"));
  assert.equal(textOf(info, "clID"), "gate-one");
  assert.ok(Number(info.svTRID.slice(4)) > 22, "22 is the last number of the log");
  assert.match((await client.ask(pollFrame)).xml, /pending-approve-a\.test/);
  client.close();
});

test("imports a log once", async (context) => {
  const { dataDir } = await folderWithLog(context);
  const first = await startSandboxRegistry({ ...options, dataDir });
  first.store.domains.delete("a.test");
  await first.close();
  const files = await readdir(dataDir);
  assert.ok(files.includes("registry.jsonl.imported") && !files.includes("registry.jsonl"), files.join(" "));
  const second = await startSandboxRegistry({ ...options, dataDir });
  assert.equal(second.store.domains.find("a.test"), undefined);
  await second.close();
});

test("imports a log with a torn last line, and refuses one that is damaged in the middle", async (context) => {
  const { dataDir, log } = await folderWithLog(context);
  await appendFile(log, '{"sequence":9,"changes":[{"table":"domains","pu');
  const registry = await startSandboxRegistry({ ...options, dataDir });
  assert.ok(registry.store.domains.find("a.test"));
  await registry.close();

  const damaged = await folderWithLog(context);
  await writeFile(damaged.log, `broken\n${await readFile(damaged.log, "utf8")}`);
  await assert.rejects(startSandboxRegistry({ ...options, dataDir: damaged.dataDir }), /line 1 is damaged/);
});
