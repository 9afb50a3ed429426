/**
 * Ends FTP sessions. After login, all uids of a session's process are the account's (RootRevoke), so a session is a process
 * whose folder in /proc belongs to that uid. This needs no names (ProFTPD's own list truncates them to 31 characters), and
 * includes one-time logins. `ftpdctl kick user` does the same by name, 2.8 s later.
 */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { NodeUnavailable } from "#nodes/driver.ts";
import { uidMin } from "#nodes/proftpd-nginx/settings.ts";

const checkMs = 20;
/** A login that began with the old login file is ended after this: bcrypt of cost 12 takes about 300 ms. */
const loginMsMax = 1_500;
/** A process that ignores SIGTERM for this long gets SIGKILL. */
const politeMsMax = 2_500;
const endMsMax = 4_000;

/**
 * Ends the sessions of these accounts. Call it after replacing the login file. It also waits for logins in progress, which
 * may have read the old file.
 * @throws NodeUnavailable when a session does not end
 */
export async function endSessions(uids: ReadonlySet<number>, ftpPidFile: string): Promise<void> {
  const isLoggingIn = new Set(sessionsBeforeLogin(ftpPidFile));
  for (let waitedMs = 0; ; waitedMs += checkMs) {
    const owners = processOwners();
    const open = [...owners].filter(([pid, uid]) => uids.has(uid) && isOf(pid, ftpPidFile)).map(([pid]) => pid);
    for (const pid of isLoggingIn) {
      const owner = owners.get(pid);
      if (owner === undefined || owner >= uidMin) isLoggingIn.delete(pid);
    }
    if (open.length === 0 && isLoggingIn.size === 0) return;
    if (waitedMs > endMsMax) throw new NodeUnavailable("an FTP session does not end");
    const signal = waitedMs > politeMsMax ? "SIGKILL" : "SIGTERM";
    for (const pid of open) sendSignal(pid, signal);
    if (waitedMs > loginMsMax) for (const pid of isLoggingIn) sendSignal(pid, signal);
    await pause(checkMs);
  }
}

/** Ends an account's youngest sessions above its limit. */
export function endSurplusSessions(uid: number, sessionsMax: number, ftpPidFile: string): void {
  const owned = [...processOwners()].filter(([pid, owner]) => owner === uid && isOf(pid, ftpPidFile));
  const pids = owned.map(([pid]) => pid);
  const byAge = pids.map((pid) => ({ pid, startedAt: startOf(pid) })).sort((a, b) => a.startedAt - b.startedAt);
  for (const { pid } of byAge.slice(sessionsMax)) sendSignal(pid, "SIGTERM");
}

function processOwners(): Map<number, number> {
  const owners = new Map<number, number>();
  for (const name of readdirSync("/proc")) {
    const pid = Number(name);
    if (!(pid > 0)) continue;
    const found = statSync(`/proc/${pid}`, { throwIfNoEntry: false });
    if (found !== undefined) owners.set(pid, found.uid);
  }
  return owners;
}

/** Whether a process is a session of this ProFTPD, or of one that has ended: the server may have another node. */
function isOf(pid: number, ftpPidFile: string): boolean {
  const parent = Number(statFields(pid)[1]);
  return parent === 1 || parent === Number(read(ftpPidFile));
}

/** The children of ProFTPD's main process: sessions that have not logged in. */
function sessionsBeforeLogin(ftpPidFile: string): number[] {
  const daemon = Number(read(ftpPidFile));
  if (!(daemon > 0)) return [];
  const children = read(`/proc/${daemon}/task/${daemon}/children`);
  return children.split(" ").filter(Boolean).map(Number);
}

/** In ticks since the system's start. */
function startOf(pid: number): number {
  return Number(statFields(pid)[19]);
}

/** The fields from the third on (proc(5)): the name in the second may contain spaces. */
function statFields(pid: number): string[] {
  const text = read(`/proc/${pid}/stat`);
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
}

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The process has already ended.
  }
}
