/** A process that cannot end by itself after a signal. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { repository } from "../harness/running-system.ts";

const stuckRole = `
  import { runRole } from "#role.ts";
  // As a socket does.
  setInterval(() => {}, 1_000);
  const close = () => new Promise(() => {});
  await runRole(async () => ({ ready: {}, unfinished: () => "2 requests", close }));`;

test("a process that has not stopped after 30 s is ended with 1, and says what it cut and that it ignores SIGHUP", async () => {
  const args = ["--disable-warning=ExperimentalWarning", "--input-type=module-typescript", "--eval", stuckRole];
  const child = spawn(process.execPath, args, { cwd: repository, stdio: ["ignore", "ignore", "pipe", "ipc"] });
  const said = text(child.stderr!);
  await once(child, "message");
  child.kill("SIGHUP");
  child.kill("SIGTERM");
  const [code] = await once(child, "exit");
  assert.deepEqual((await said).trimEnd().split("\n"), [
    "deedhouse: SIGHUP is ignored: restart this process to read its settings again",
    "deedhouse: it did not stop within 30 s, and is ended; cut: 2 requests",
  ]);
  assert.equal(code, 1);
});
