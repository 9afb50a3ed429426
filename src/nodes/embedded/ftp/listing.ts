/** The formats of LIST, MLSD and MLST (RFC 3659 §7). Only files and folders are shown; times are UTC. */
import type { Stats } from "node:fs";
import { lstat, opendir } from "node:fs/promises";
import { join } from "node:path";
import { ignoreMissing } from "#nodes/atomic-file.ts";

export interface Entry {
  name: string;
  stats: Stats;
}

export type EntryFormat = (entry: Entry) => string;

const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/** `ls` shows the year instead of the time for what is older than about six months. */
const recentMs = 15_778_476_000;

/** A folder's entries, read on demand: a folder of a million files takes no memory. */
export async function* entriesOf(folder: string): AsyncGenerator<Entry> {
  for await (const { name } of await opendir(folder)) {
    const stats = await lstat(join(folder, name)).catch(ignoreMissing);
    if (stats && (stats.isFile() || stats.isDirectory())) yield { name, stats };
  }
}

export function nameOnly({ name }: Entry): string {
  return name;
}

/** A line in the format of `ls -l`, which clients parse. */
export function longFormat(nowMs: number): EntryFormat {
  return ({ name, stats }) => {
    const mode = stats.isDirectory() ? "drwxr-xr-x" : "-rw-r--r--";
    const { mtime } = stats;
    const clock = mtime.toISOString().slice(11, 16);
    const end = nowMs - mtime.getTime() < recentMs ? clock : ` ${mtime.getUTCFullYear()}`;
    const date = `${months[mtime.getUTCMonth()]} ${String(mtime.getUTCDate()).padStart(2)} ${end}`;
    return `${mode} 1 ftp ftp ${String(stats.size).padStart(12)} ${date} ${name}`;
  };
}

export function machineFormat({ name, stats }: Entry): string {
  const type = stats.isDirectory() ? "type=dir;" : `type=file;size=${stats.size};`;
  return `${type}modify=${timeFormat(stats.mtime)}; ${name}`;
}

/** `20261121010203`, UTC (RFC 3659 §2.3). */
export function timeFormat(time: Date): string {
  return time.toISOString().replace(/[-:T]|\..*/g, "");
}
