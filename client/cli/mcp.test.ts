import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { runCli } from "../testing/run-cli.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

test("mcp says how to install its packages where they are missing, and exits with 2", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "deedhouse-mcp-missing-"));
  t.after(() => rmSync(folder, { recursive: true }));
  for (const part of ["client", "package.json"]) cpSync(join(root, part), join(folder, part), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  const { PATH } = process.env;
  const child = spawn(process.execPath, ["client/testing/cli-entry.ts", "mcp"], { cwd: folder, env: { PATH } });
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  assert.deepEqual([code, stdout], [2, ""]);
  assert.match(stderr, /are not installed\nInstall them: npm ci --prefix mcp\n$/);
});

test("mcp refuses a limit that is no whole number", async () => {
  const { exitCode, stderr } = await runCli("http://127.0.0.1:9", ["mcp", "--write", "--paid-orders-per-day", "-1"]);
  assert.equal(exitCode, 2);
  assert.match(stderr, /Give a whole number/);
});
