import assert from "node:assert/strict";
import { constants } from "node:buffer";
import { appendFile, copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { startSandboxRegistry } from "./server.ts";
import { registrars } from "./test/setup.ts";

/** Writes 540 MB, for a file that no string can hold. */
test("imports a log that is longer than one string can be", async (context) => {
  const dataDir = await mkdtemp(join(tmpdir(), "sandbox-registry-test-"));
  context.after(() => rm(dataDir, { recursive: true }));
  const log = join(dataDir, "registry.jsonl");
  await copyFile(join(import.meta.dirname, "test/earlier-release.jsonl"), log);
  const line = `{"sequence":22,"changes":[]${" ".repeat(2 ** 24)}}\n`;
  for (let bytes = 0; bytes <= constants.MAX_STRING_LENGTH; bytes += line.length) await appendFile(log, line);
  const registry = await startSandboxRegistry({ suffixes: ["test"], registrars, pendingDelayMs: 60_000, dataDir });
  assert.ok(registry.store.domains.find("a.test"));
  await registry.close();
});
