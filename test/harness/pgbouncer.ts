/** Debian's PgBouncer before a database of the tests. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Scope } from "./database.ts";
import { freePorts } from "./free-ports.ts";

/** The option `skip` of a test. */
export const noPgbouncer = spawnSync("pgbouncer", ["--version"]).error !== undefined && "pgbouncer is not installed";

/** @param databaseUrl of PostgreSQL @param settings of its section `pgbouncer` @returns the same database's URL through it */
export async function startPgbouncer(
  scope: Scope,
  databaseUrl: string,
  settings: Record<string, string>,
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "deedhouse-pgbouncer-"));
  const { username, password, hostname, port: serverPort, pathname } = new URL(databaseUrl);
  const [port] = await freePorts(1);
  const users = join(folder, "users.txt");
  const all = {
    listen_addr: "127.0.0.1",
    listen_port: port,
    unix_socket_dir: "",
    auth_type: "trust",
    auth_file: users,
  };
  const lines = Object.entries({ ...all, logfile: join(folder, "log"), ...settings });
  await writeFile(users, `"${username}" "${decodeURIComponent(password)}"\n`);
  await writeFile(
    join(folder, "pgbouncer.ini"),
    `[databases]\n* = host=${hostname} port=${serverPort}\n[pgbouncer]\n${lines.map((line) => line.join(" = ")).join("\n")}\n`,
  );
  // As root, it needs another user, who must be able to read and write here.
  await chmod(folder, 0o777);
  const user = process.getuid?.() === 0 ? ["-u", "nobody"] : [];
  const child = spawn("pgbouncer", [...user, join(folder, "pgbouncer.ini")], { stdio: "ignore" });
  const exited = once(child, "exit");
  scope.after(async () => {
    child.kill("SIGINT");
    child.kill("SIGTERM");
    await exited;
    await rm(folder, { recursive: true });
  });
  while (child.exitCode === null && !(await answers(port!))) await sleep(20);
  if (child.exitCode !== null) throw new Error(`pgbouncer ended with ${child.exitCode}`);
  return `postgres://${username}:${password}@127.0.0.1:${port}${pathname}`;
}

function answers(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  return new Promise<boolean>((resolve) => {
    socket.once("connect", () => resolve(true));
    socket.once("error", () => resolve(false));
  }).finally(() => socket.destroy());
}
