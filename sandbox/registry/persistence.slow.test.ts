import assert from "node:assert/strict";
import { constants } from "node:buffer";
import { appendFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { startSandboxRegistry } from "./server.ts";
import { registrars } from "./test/setup.ts";

/** Writes 540 MB, for a file that no string can hold. */
test("starts on more than one string can hold", async (context) => {
  const dataDir = await mkdtemp(join(tmpdir(), "sandbox-registry-test-"));
  context.after(() => rm(dataDir, { recursive: true }));
  const options = { suffixes: ["test"], registrars, pendingDelayMs: 60_000, dataDir };
  const first = await startSandboxRegistry(options);
  await first.seed(["a.test"]);
  await first.close();
  const line = `{"sequence":9,"changes":[]${" ".repeat(2 ** 24)}}\n`;
  const file = join(dataDir, "registry.jsonl");
  for (let bytes = 0; bytes <= constants.MAX_STRING_LENGTH; bytes += line.length) await appendFile(file, line);
  const second = await startSandboxRegistry(options);
  assert.ok(second.store.domains.find("a.test"));
  await second.close();
});
