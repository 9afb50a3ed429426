/**
 * Finds processes that an earlier `deedhouse start` left behind. A start that is killed cannot stop its processes. They notice
 * and end without help, but until then they hold the ports and the files.
 */
import { readdirSync, readFileSync } from "node:fs";
import { sleep, systemClock } from "#lib/clock.ts";

/** Longer than each of them takes to notice and stop. */
const waitBudgetMs = 25_000;
const pollIntervalMs = 50;

/** In the environment of every process started on this folder, so that the next start recognises them. */
export const ownerMark = (root: string) => ({ DEEDHOUSE_STARTED_ON: root });

/** Returns when no process of an earlier start on the folder is running; kills those that take too long. */
export async function waitForPredecessor(root: string): Promise<void> {
  const mark = Object.entries(ownerMark(root)).map(([name, value]) => `${name}=${value}`)[0]!;
  const deadlineMs = systemClock.monotonicMs() + waitBudgetMs;
  for (let pids = marked(mark); pids.length > 0; pids = marked(mark)) {
    if (systemClock.monotonicMs() > deadlineMs) for (const pid of pids) end(pid);
    await sleep(pollIntervalMs);
  }
}

function end(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

function marked(mark: string): number[] {
  return readdirSync("/proc")
    .filter((name) => /^[0-9]+$/.test(name) && environmentOf(name).includes(mark))
    .map(Number);
}

/** Empty for another user's process, or one that has ended. */
function environmentOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
  } catch {
    return [];
  }
}
