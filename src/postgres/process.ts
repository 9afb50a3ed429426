import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ClusterPaths } from "#postgres/cluster.ts";

/** A live PostgreSQL server, as its postmaster.pid describes it. */
export interface RunningServer {
  pid: number;
  port: number;
  /** The folder of its Unix socket; undefined when it has none. */
  socketFolder: string | undefined;
  /** False while it starts, recovers or shuts down. */
  isReady: boolean;
}

/**
 * The server that runs on this folder now, if any. Removes a postmaster.pid whose number now belongs to another
 * program: PostgreSQL would take that program for a live server and refuse to start (in containers the same small
 * numbers come back). A postmaster.pid whose process is gone stays, because PostgreSQL also uses it to notice orphaned
 * backends.
 */
export async function findRunningServer(paths: ClusterPaths): Promise<RunningServer | undefined> {
  const pidFile = join(paths.cluster, "postmaster.pid");
  // Lines: pid, folder, start, port, socket folder, address, shared memory, status (PostgreSQL's pidfile.h).
  const lines = (await readFile(pidFile, "utf8").catch(() => "")).split("\n");
  const pid = Number(lines[0]);
  if (!pid || (await startTicks(pid)) === undefined) return undefined;
  const commandLine = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
  if (!commandLine.split("\0").includes(paths.cluster)) {
    await rm(pidFile, { force: true });
    return undefined;
  }
  return { pid, port: Number(lines[3]), socketFolder: lines[4] || undefined, isReady: lines[7]?.trim() === "ready" };
}

/** Whether the process still runs; a process that has ended but is not reaped yet does not. */
export async function isRunning(pid: number): Promise<boolean> {
  return (await startTicks(pid)) !== undefined;
}

/** Records that this process supervises the server, unless another live one does. */
export async function claim(paths: ClusterPaths): Promise<void> {
  if (await isClaimedByAnother(paths)) return;
  await writeFile(paths.supervisor, `${process.pid} ${await startTicks(process.pid)}\n`, { mode: 0o600 });
}

/** Whether another live process supervises the server; then only that process may stop it. */
export async function isClaimedByAnother(paths: ClusterPaths): Promise<boolean> {
  const [pid, started] = (await readFile(paths.supervisor, "utf8").catch(() => "")).trim().split(" ");
  if (!pid || Number(pid) === process.pid) return false;
  return (await startTicks(Number(pid))) === started;
}

/**
 * When the process started, in clock ticks since boot: together with its number, that identifies it for good
 * (proc_pid_stat(5)).
 */
async function startTicks(pid: number): Promise<string | undefined> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  // The program's name is in parentheses and may contain spaces; the state is the 3rd field, the start time the 22nd.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return fields[0] === "Z" ? undefined : fields[19];
}
