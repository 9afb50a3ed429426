/**
 * A PostgreSQL other than the one that comes along: migrated, or with a standby that pg_basebackup has made. By default it is Debian's 15,
 * the oldest version that we accept.
 */
import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { lchown, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { migrate } from "#db/migrate.ts";
import { findPrograms } from "#postgres/binaries.ts";
import type { Scope } from "./database.ts";
import { freePorts } from "./free-ports.ts";
import { quickFolder } from "./quick-folder.ts";
import { runSql } from "./sql.ts";
import type { OwnServer } from "./standby.ts";

const debianBinDir = "/usr/lib/postgresql/15/bin";
const user = "deedhouse";
const password = "a-test-password";

/** The option `skip` of a test. */
export const noDebianPostgres = !existsSync(join(debianBinDir, "postgres")) && "postgresql-15 is not installed";

/** The folder of a server, which goes once the server has ended. */
interface Place {
  binDir: string;
  folder: string;
  server?: OwnServer;
}

async function makePlace(scope: Scope, binDir: string): Promise<Place> {
  const place: Place = { binDir, folder: await mkdtemp(join(await quickFolder(), "deedhouse-debian-")) };
  scope.after(async () => {
    await place.server?.stop();
    await rm(place.folder, { recursive: true, force: true });
  });
  return place;
}

/** Runs one of its programs as a user who is not root. */
async function run(
  { binDir, folder }: Place,
  program: string,
  args: string[],
  env: NodeJS.ProcessEnv = {},
): Promise<void> {
  const { prefix, identity } = await findPrograms(folder);
  const [command, ...rest] = [...prefix, join(binDir, program), ...args] as [string, ...string[]];
  await promisify(execFile)(command, rest, { ...identity, cwd: "/", env: { ...process.env, ...env } });
}

async function handOver(folder: string): Promise<void> {
  const { filesOwner } = await findPrograms(folder);
  for (const entry of ["", ...(await readdir(folder, { recursive: true }))]) {
    await lchown(join(folder, entry), filesOwner, filesOwner);
  }
}

async function serve(place: Place, more: readonly string[] = []): Promise<OwnServer> {
  const { binDir, folder } = place;
  const { prefix, identity } = await findPrograms(folder);
  const [port] = await freePorts(1);
  const settings = [`port=${port}`, "listen_addresses=127.0.0.1", "unix_socket_directories=", ...more];
  const words = [join(binDir, "postgres"), "-D", join(folder, "cluster"), ...settings.flatMap((each) => ["-c", each])];
  const [command, ...args] = [...prefix, ...words] as [string, ...string[]];
  const child = spawn(command, args, { ...identity, cwd: "/", stdio: "ignore" });
  const exited = once(child, "exit").then(() => {});
  const isRunning = () => child.exitCode === null && child.signalCode === null;
  const stop = async () => {
    if (!isRunning()) return;
    child.kill("SIGINT");
    await exited;
    assert.equal(child.exitCode, 0, "PostgreSQL did not shut down in an orderly way");
  };
  const url = `postgres://${user}:${password}@127.0.0.1:${port}/postgres`;
  place.server = { url, localUrl: url, port: port!, pid: child.pid!, adopted: false, exited, stop, dataDir: folder };
  while (isRunning() && !(await runSql(url, "SELECT 1").then(Boolean, () => false))) await sleep(50);
  assert.ok(isRunning(), "PostgreSQL ended at its start");
  return place.server;
}

/** @param more settings such as "fsync=off" @param binDir the folder of its programs */
export async function startDebianServer(
  scope: Scope,
  more: readonly string[] = [],
  binDir = debianBinDir,
): Promise<OwnServer> {
  const place = await makePlace(scope, binDir);
  const { folder } = place;
  const passwordFile = join(folder, "password");
  await writeFile(passwordFile, password);
  await handOver(folder);
  const identity = [`--username=${user}`, `--pwfile=${passwordFile}`, "--auth=scram-sha-256"];
  await run(place, "initdb", ["-D", join(folder, "cluster"), ...identity, "--encoding=UTF8", "--locale=C"]);
  return serve(place, more);
}

/** @param port where it gets the primary's log: by default at its own port */
export async function startDebianStandby(scope: Scope, primary: OwnServer, port = primary.port): Promise<OwnServer> {
  const place = await makePlace(scope, debianBinDir);
  const { folder } = place;
  await handOver(folder);
  const source = ["-h", "127.0.0.1", "-p", String(port), "-U", user];
  const how = ["--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast"];
  await run(place, "pg_basebackup", [...source, ...how, "-D", join(folder, "cluster")], { PGPASSWORD: password });
  return serve(place);
}

/** @param binDir the folder of its programs @returns the URL of a migrated template database, to which nothing is connected */
export async function startMigratedPostgres(scope: Scope, binDir?: string): Promise<string> {
  const volatile = ["fsync=off", "synchronous_commit=off", "full_page_writes=off", "autovacuum=off"];
  const { url } = await startDebianServer(scope, volatile, binDir);
  await runSql(url, "CREATE DATABASE deedhouse");
  const own = new URL(url);
  own.pathname = "/deedhouse";
  await migrate(own.href);
  return own.href;
}
