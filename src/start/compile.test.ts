import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { compileParts } from "#start/compile.ts";

const entry = fileURLToPath(new URL("../../bin/deedhouse.ts", import.meta.url));
/** Each part has more modules than this. */
const modulesMin = 50;

test("what every part imports is compiled before it starts", async (context) => {
  const folder = await mkdtemp(join(tmpdir(), "deedhouse-compiled-"));
  context.after(() => rm(folder, { recursive: true }));
  const environment = { PATH: process.env.PATH, NODE_COMPILE_CACHE: folder };
  await compileParts(environment, new AbortController().signal);
  for (const part of ["api", "worker", "node", "sandbox-registry"]) {
    // It lacks its settings, which it says when it has imported everything. Node traces its cache on standard output or error.
    const env = { ...environment, NODE_DEBUG_NATIVE: "COMPILE_CACHE" };
    const { stdout, stderr, status } = spawnSync(process.execPath, [entry, part], { encoding: "utf8", env });
    assert.notEqual(status, 0, part);
    const lines = `${stdout}\n${stderr}`.split("\n");
    const found = lines.filter((line) => /retrieving transpile cache for StrippedTypeScript .*success/.test(line));
    assert.ok(found.length > modulesMin, `${part}: ${found.length} modules`);
    assert.deepEqual(
      lines.filter((line) => line.includes("no transpile cache for StrippedTypeScript")),
      [],
      part,
    );
  }
});
