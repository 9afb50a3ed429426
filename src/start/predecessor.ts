/**
 * The processes that an earlier `deedhouse start` left behind. One that is killed cannot stop what it started: its
 * processes notice and end by themselves, and until then they hold the ports and the files.
 */
import { readdirSync, readFileSync } from "node:fs";
import { sleep, systemClock } from "#lib/clock.ts";

/** Above the time that each takes to stop by itself. */
const waitBudgetMs = 25_000;
const pollIntervalMs = 50;

/** In the environment of every process that a start on this folder makes: how the next start knows them. */
export const ownerMark = (root: string) => ({ DEEDHOUSE_STARTED_ON: root });

/** Returns when no process of an earlier start on the folder runs any more; ends those that take too long. */
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

/** Of another user's process, or one that has ended, nothing. */
function environmentOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
  } catch {
    return [];
  }
}
