import { readdirSync, readFileSync } from "node:fs";

/** USER_HZ: the unit of /proc/<pid>/stat, the same on every Linux that Node runs on. */
const tickMs = 10;

/** User and system time of a process; proc_pid_stat(5), fields 14 and 15. */
export function processorMs(pid: number): number {
  return usedMs(readStat(pid));
}

/** The same for a process and its children, including those that it has waited for (fields 16 and 17). */
export function familyProcessorMs(pid: number): number {
  const own = readStat(pid);
  const childrenMs = readdirSync("/proc")
    .filter((entry) => /^[0-9]+$/.test(entry))
    .map((entry) => childStat(Number(entry), pid))
    .reduce((sum, stat) => sum + (stat ? usedMs(stat) : 0), 0);
  return usedMs(own) + usedMs(own.slice(2)) + childrenMs;
}

const usedMs = (fields: string[]) => (Number(fields[11]) + Number(fields[12])) * tickMs;

/** The fields after the name, which may contain anything: the first is field 3. */
function readStat(pid: number): string[] {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

function childStat(pid: number, parentPid: number): string[] | undefined {
  try {
    const stat = readStat(pid);
    return Number(stat[1]) === parentPid ? stat : undefined;
  } catch {
    return undefined; // It has ended.
  }
}
