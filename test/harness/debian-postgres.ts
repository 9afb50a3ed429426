/** Debian's PostgreSQL 15, the oldest one that we take, with a migrated template database. */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { migrate } from "#db/migrate.ts";
import type { Scope } from "./database.ts";
import { freePorts } from "./free-ports.ts";
import { quickFolder } from "./quick-folder.ts";
import { runSql } from "./sql.ts";

const programs = "/usr/lib/postgresql/15/bin";

/** The option `skip` of a test. */
export const noDebianPostgres =
  spawnSync(join(programs, "postgres"), ["--version"]).error !== undefined && "postgresql-15 is not installed";

/** @returns the URL of the template, to which nothing is connected */
export async function startDebianPostgres(scope: Scope): Promise<string> {
  const folder = await mkdtemp(join(await quickFolder(), "deedhouse-debian-"));
  const cluster = join(folder, "cluster");
  await chmod(folder, 0o777);
  // PostgreSQL refuses to run as root.
  const isRoot = process.getuid?.() === 0;
  const [command, ...prefix] = isRoot ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : ["env"];
  const words = (program: string, ...args: string[]) => [...prefix, join(programs, program), ...args];
  const options = ["--username=deedhouse", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"];
  execFileSync(command!, words("initdb", "--pgdata", cluster, ...options), { cwd: "/", stdio: "pipe" });
  const [port] = await freePorts(1);
  const settings = { port, listen_addresses: "127.0.0.1", unix_socket_directories: "", fsync: "off" };
  const volatile = { synchronous_commit: "off", full_page_writes: "off", autovacuum: "off", max_connections: 100 };
  const flags = Object.entries({ ...settings, ...volatile }).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const server = spawn(command!, words("postgres", "-D", cluster, ...flags), { cwd: "/", stdio: "ignore" });
  const exited = once(server, "exit");
  scope.after(async () => {
    server.kill("SIGQUIT");
    await exited;
    await rm(folder, { recursive: true });
  });
  const url = (database: string) => `postgres://deedhouse@127.0.0.1:${port}/${database}`;
  const create = () => runSql(url("postgres"), "CREATE DATABASE deedhouse").then(() => true);
  while (!(await create().catch(() => false))) {
    if (server.exitCode !== null) throw new Error(`PostgreSQL ended with ${server.exitCode}`);
    await sleep(50);
  }
  await migrate(url("deedhouse"));
  return url("deedhouse");
}
