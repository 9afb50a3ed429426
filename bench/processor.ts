import { readdirSync, readFileSync } from "node:fs";

/** USER_HZ: the unit of /proc/<pid>/stat, the same on every Linux that Node runs on. */
const tickMs = 10;

/** User and system time of a process; proc_pid_stat(5), fields 14 and 15. */
export function processorMs(pid: number): number {
  const fields = readStat(pid);
  return (Number(fields[11]) + Number(fields[12])) * tickMs;
}

/** The same for a process and those of its children that live. */
export function familyProcessorMs(pid: number): number {
  const children = readdirSync("/proc").filter((entry) => /^[0-9]+$/.test(entry) && parentOf(Number(entry)) === pid);
  return children.reduce((sum, child) => sum + processorMs(Number(child)), processorMs(pid));
}

/** Those that follow the name, which may hold anything: the first is field 3. */
function readStat(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

function parentOf(pid: number): number | undefined {
  try {
    return Number(readStat(pid)[1]);
  } catch {
    return undefined; // It has ended meanwhile.
  }
}
