/** A role of a package that a test starts, and stops as systemd or an engine of containers does. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { sleep, systemClock } from "#lib/clock.ts";

const startMs = 60_000;

export interface Role {
  child: ChildProcess;
  /** Ends it as its supervisor does. */
  stop(): Promise<[code: number | null, signal: NodeJS.Signals | null]>;
}

/** Resolves when its log says so. @throws AssertionError with its log, if it ends before or takes too long */
export async function startRole(
  words: readonly string[],
  says: string,
  scope: { after(hook: () => unknown): void },
): Promise<Role> {
  const [program, ...args] = words;
  const child = spawn(program!, args, { stdio: ["ignore", "ignore", "pipe"] });
  scope.after(() => child.kill("SIGKILL"));
  let said = "";
  child.stderr.on("data", (bytes: Buffer) => {
    said += bytes;
  });
  const deadlineMs = systemClock.monotonicMs() + startMs;
  while (!said.includes(says)) {
    assert.equal(child.exitCode, null, said);
    assert.ok(systemClock.monotonicMs() < deadlineMs, said);
    await sleep(50);
  }
  return {
    child,
    async stop() {
      child.kill("SIGTERM");
      return (await once(child, "exit")) as [number | null, NodeJS.Signals | null];
    },
  };
}
