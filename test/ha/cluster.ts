/** The cluster of `ops/ha/cluster.sh`, whose machines can be killed and frozen. */
import { execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Scope } from "../harness/database.ts";
import { noDebianPostgres } from "../harness/debian-postgres.ts";
import { quickFolder } from "../harness/quick-folder.ts";

const script = new URL("../../ops/ha/cluster.sh", import.meta.url).pathname;
const packages = [
  ["etcd-server", "etcd"],
  ["patroni", "patroni"],
  ["haproxy", "haproxy"],
] as const;
const missing = packages.find(([, program]) => spawnSync(program, ["--version"]).error !== undefined)?.[0];

/** The option `skip` of a test. */
export const noCluster = missing ? `${missing} is not installed` : noDebianPostgres;

export interface Cluster {
  /** A database of which the cluster's role is the owner, at HAProxy. */
  url: string;
  primary(): Promise<string>;
  /** Runs one of the script's other commands. @returns what it printed */
  run(command: string, ...machine: string[]): Promise<string>;
}

export async function startCluster(scope: Scope): Promise<Cluster> {
  const folder = await mkdtemp(join(await quickFolder(), "deedhouse-ha-"));
  const run = async (command: string, ...machine: string[]) => {
    const { stdout } = await promisify(execFile)("bash", [script, command, folder, ...machine]);
    return stdout.trim();
  };
  // Its input ends with this process, however that ends, and then the cluster does.
  const guard = spawn("bash", ["-c", 'read; bash "$0" stop "$1"; rm -rf "$1"', script, folder], {
    stdio: ["pipe", "inherit", "inherit"],
    detached: true,
  });
  const stopped = once(guard, "exit");
  scope.after(async () => {
    guard.stdin.end();
    await stopped;
  });
  await run("start");
  return { url: (await readFile(join(folder, "database-url"), "utf8")).trim(), primary: () => run("primary"), run };
}
