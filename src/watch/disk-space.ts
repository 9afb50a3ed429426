/** Raises alarms for disks that are nearly full, before writes to them are refused or dropped. */
import { fstatSync, readlinkSync } from "node:fs";
import { realpath, stat, statfs } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";

type DiskContext = Pick<Context, "database" | "clock" | "log">;

const leftPercentMin = 10;
/** A little more than the minimum resolves the alarm; otherwise a disk at the limit would raise it again and again. */
const leftAgainPercentMin = 12;
const standardError = 2;

/**
 * Raises the alarm `disk` for each file system with less than 10 % left, of space or of files, and resolves it for the
 * others. @param paths files or folders; missing ones are ignored
 */
export async function lookAtDisks(context: DiskContext, paths: readonly string[]): Promise<void> {
  for (const mountPoint of await mountPointsOf(paths)) {
    const { blocks, bavail, files, ffree } = await statfs(mountPoint);
    const leftPercent = Math.floor(Math.min(shareLeft(bavail, blocks), shareLeft(ffree, files)) * 100);
    const alarm = { kind: "disk", subject: `${hostname()}:${mountPoint}` } as const;
    const note = `${leftPercent} % of ${mountPoint} on ${hostname()} is left: make room before requests are refused, log lines dropped, or PostgreSQL stops`;
    if (leftPercent < leftPercentMin) await raiseAlarm(context, { ...alarm, note });
    else if (leftPercent >= leftAgainPercentMin) await resolveAlarm(context, alarm);
  }
}

/** A file system without a limit, as some have none for files, reports 0 of 0. */
const shareLeft = (left: number, all: number) => (all === 0 ? 1 : left / all);

async function mountPointsOf(paths: readonly string[]): Promise<Set<string>> {
  const found = new Set<string>();
  for (const path of paths) {
    const mountPoint = await mountPointOf(path).catch(ignoreMissing);
    if (mountPoint !== undefined) found.add(mountPoint);
  }
  return found;
}

/** The highest parent folder on the same file system. */
async function mountPointOf(path: string): Promise<string> {
  let at = await realpath(path);
  const { dev } = await stat(at);
  while (at !== "/" && (await stat(dirname(at))).dev === dev) at = dirname(at);
  return at;
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}

/** The file that receives our log lines; empty when another program keeps them. */
export function ownLogFile(): string[] {
  return fstatSync(standardError).isFile() ? [readlinkSync(`/proc/self/fd/${standardError}`)] : [];
}
