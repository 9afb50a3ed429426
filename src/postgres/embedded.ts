/**
 * Supervises the embedded PostgreSQL: creates its folder on the first start, starts it, adopts a server that a killed
 * supervisor left behind, and stops it.
 *
 * The server runs in its own session, so that neither Ctrl-C in the terminal nor the death of this process stops it before we
 * do: a killed supervisor leaves it running, and the next start on the same folder adopts it.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { open, readFile, rename, rm, stat } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Client } from "pg";
import { sleep, systemClock } from "#lib/clock.ts";
import type { Log } from "#lib/log.ts";
import { findPrograms, type Programs } from "#postgres/binaries.ts";
import { type ClusterPaths, ensureCluster, openDataDir, superuser } from "#postgres/cluster.ts";
import { EmbeddedPostgresError } from "#postgres/error.ts";
import { claim, findRunningServer, isClaimedByAnother, isRunning, type RunningServer } from "#postgres/process.ts";

export interface EmbeddedPostgresOptions {
  /** The folder for the database, its password and its log; created when missing. */
  dataDir: string;
  /** On 127.0.0.1; 0 for any free port. A server that already runs keeps its port. */
  port: number;
  log: Log;
  /** Settings of postgresql.conf that replace ours. */
  settings?: Readonly<Record<string, string>>;
}

export interface EmbeddedPostgres {
  /** Over TCP, including the password. */
  readonly url: string;
  /** Over the Unix socket, if there is one: for processes of the same user, and cheaper for both ends. */
  readonly localUrl: string;
  readonly port: number;
  /** The postmaster's. */
  readonly pid: number;
  /** Whether it was already running. */
  readonly adopted: boolean;
  /** Resolves when the server has ended for any reason. Restart it with the same port to keep the URL. */
  readonly exited: Promise<void>;
  /** Ends all sessions and the server, and waits for it; does nothing when another live process supervises it. */
  stop(): Promise<void>;
}

const databaseName = "deedhouse";

/** Crash recovery reads up to max_wal_size of log before the server answers. */
const startBudgetMs = 120_000;
const stopBudgetMs = 30_000;
const pollIntervalMs = 50;
const adoptedPollIntervalMs = 500;
const connectBudgetMs = 5_000;
/** sun_path in unix(7), minus the final zero byte. */
const socketPathBytesMax = 107;
const logFileBytesMax = 10 * 1024 * 1024;

/** For a small server: the whole gateway stays below 500 MB. */
const defaultSettings = {
  listen_addresses: "127.0.0.1",
  max_connections: "80",
  shared_buffers: "64MB",
  maintenance_work_mem: "32MB",
  // Uses disk, and only under load. With a quarter of it, a checkpoint came every few thousand orders and its writes
  // delayed theirs.
  max_wal_size: "1GB",
  huge_pages: "off",
  // In the cluster's folder and not in /dev/shm, where the file would remain if a server is killed and its folder
  // removed.
  dynamic_shared_memory_type: "mmap",
  // Each of these would start processes or compile code, which short queries like ours never repay.
  jit: "off",
  io_method: "sync",
  max_parallel_workers_per_gather: "0",
  max_logical_replication_workers: "0",
  timezone: "UTC",
  log_timezone: "UTC",
  // The level "log" leaves out "error": the caller reports a refused statement, and a flood of them would fill the disk. Fatal
  // errors and the server's messages stay.
  log_min_messages: "log",
  log_checkpoints: "off",
};

/**
 * Starts PostgreSQL on the folder, or adopts a server that already runs there, and makes sure that the database exists.
 * @throws EmbeddedPostgresError
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { log } = options;
  const paths = await openDataDir(options.dataDir);
  const programs = await findPrograms(paths.dataDir);
  const password = await ensureCluster(paths, programs, log);
  const target = { paths, programs, password, options };

  await claim(paths);
  const { server, child } = await adoptOrSpawn(target);
  const adopted = child === undefined;
  const exited = child ? child.exited : untilGone(server.pid);
  try {
    await ensureDatabase(urlOf(target, server.port, "postgres"));
  } catch (error) {
    if (!adopted) await shutDown(server.pid, exited, log);
    throw error;
  }
  log.info({ pid: server.pid, port: server.port, adopted }, "the embedded PostgreSQL is ready");
  return {
    url: urlOf(target, server.port, databaseName),
    localUrl: localUrlOf(target, server, databaseName),
    port: server.port,
    pid: server.pid,
    adopted,
    exited,
    async stop() {
      if (await isClaimedByAnother(paths)) return;
      if (await isRunning(server.pid)) await shutDown(server.pid, exited, log);
      await rm(paths.supervisor, { force: true });
    },
  };
}

interface Target {
  paths: ClusterPaths;
  programs: Programs;
  password: string;
  options: EmbeddedPostgresOptions;
}

interface Child {
  pid: number;
  exited: Promise<void>;
}

function urlOf(target: Target, port: number, database: string): string {
  return `postgres://${superuser}:${target.password}@127.0.0.1:${port}/${database}`;
}

/** libpq and the driver both take the host from the parameter. */
function localUrlOf(target: Target, { port, socketFolder }: RunningServer, database: string): string {
  const url = urlOf(target, port, database);
  return socketFolder === undefined ? url : `${url}?host=${encodeURIComponent(socketFolder)}`;
}

/** Retries while another start, or the remains of a killed server, are in the way for a moment. */
async function adoptOrSpawn(target: Target): Promise<{ server: RunningServer; child?: Child }> {
  const { paths, options } = target;
  const deadlineMs = systemClock.monotonicMs() + startBudgetMs;
  while (systemClock.monotonicMs() < deadlineMs) {
    const running = await findRunningServer(paths);
    if (running?.isReady) return { server: running };
    if (!running) {
      const port = options.port || (await freePort());
      const logStart = await fileBytes(paths.log);
      const child = await spawnServer(target, port);
      const server = await readyServer(paths, child, deadlineMs);
      if (server) return { server, child };
      if (!(await isRunning(child.pid))) {
        const failure = (await readFile(paths.log)).subarray(logStart).toString();
        if (!passesByItself(failure, options.port === 0)) throw startError(paths, port, failure);
      }
    }
    await sleep(pollIntervalMs);
  }
  throw new EmbeddedPostgresError(
    `The embedded PostgreSQL is not ready after ${startBudgetMs / 1000} s: it may still be recovering from a crash, see ${paths.log}; start again later.`,
  );
}

async function spawnServer(target: Target, port: number): Promise<Child> {
  const { paths, programs, options } = target;
  if ((await fileBytes(paths.log)) > logFileBytesMax) await rename(paths.log, `${paths.log}.1`);
  const place = { port: String(port), unix_socket_directories: socketFolders(paths, port) };
  const settings = Object.entries({ ...defaultSettings, ...place, ...options.settings });
  const server = [join(programs.binDir, "postgres"), "-D", paths.cluster];
  const [command, ...args] = [
    ...programs.prefix,
    ...server,
    ...settings.flatMap(([name, value]) => ["-c", `${name}=${value}`]),
  ];
  const logFile = await open(paths.log, "a", 0o600);
  const child = spawn(command!, args, {
    ...programs.identity,
    cwd: "/",
    detached: true,
    stdio: ["ignore", logFile.fd, logFile.fd],
  });
  child.unref();
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  await once(child, "spawn");
  await logFile.close();
  return { pid: child.pid!, exited };
}

/**
 * PostgreSQL's list of folders for its socket: the cluster's folder, which no other user may enter. It is empty when the
 * socket's path would be too long, because PostgreSQL would not start.
 */
function socketFolders({ cluster }: ClusterPaths, port: number): string {
  const pathBytes = Buffer.byteLength(join(cluster, `.s.PGSQL.${port}`));
  return pathBytes > socketPathBytesMax ? "" : `"${cluster.replaceAll('"', '""')}"`;
}

/** The server once it is ready; undefined when it ended before that, or the time is over. */
async function readyServer(paths: ClusterPaths, child: Child, deadlineMs: number): Promise<RunningServer | undefined> {
  while ((await isRunning(child.pid)) && systemClock.monotonicMs() < deadlineMs) {
    const running = await findRunningServer(paths);
    if (running?.isReady && running.pid === child.pid) return running;
    await sleep(pollIntervalMs);
  }
  return undefined;
}

/** Also proves that the password is correct. */
async function ensureDatabase(url: string): Promise<void> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: connectBudgetMs });
  client.on("error", () => {});
  try {
    await client.connect();
    const found = await client.query("SELECT 1 FROM pg_database WHERE datname = $1", [databaseName]);
    if (found.rowCount === 0) await client.query(`CREATE DATABASE ${databaseName}`).catch(ignoreExisting);
  } catch (error) {
    throw new EmbeddedPostgresError(
      `The embedded PostgreSQL does not let us in (${(error as Error).message}): restore the password file of its folder from a backup, or see its log.`,
      { cause: error },
    );
  } finally {
    await client.end();
  }
}

/** Another start on the same folder may have been faster: duplicate_database, or the unique index behind it. */
function ignoreExisting(error: { code?: string }): void {
  if (error.code !== "42P04" && error.code !== "23505") throw error;
}

/** SIGINT is PostgreSQL's fast shutdown: it ends the sessions and writes a checkpoint. SIGQUIT skips the checkpoint. */
async function shutDown(pid: number, exited: Promise<void>, log: Log): Promise<void> {
  const late = new AbortController();
  process.kill(pid, "SIGINT");
  const inTime = await Promise.race([exited.then(() => true), sleep(stopBudgetMs, late.signal).then(() => false)]);
  late.abort();
  if (inTime) return;
  log.warn({ pid }, "the embedded PostgreSQL did not stop in time: the next start will recover from its log");
  process.kill(pid, "SIGQUIT");
  await exited;
}

async function untilGone(pid: number): Promise<void> {
  while (await isRunning(pid)) await delay(adoptedPollIntervalMs, undefined, { ref: false });
}

const portTaken = /Address already in use/;

/**
 * Another server just started on this folder; the backends of a killed one are still ending; or a free port was taken
 * again.
 */
function passesByItself(failure: string, anyPort: boolean): boolean {
  return /lock file "postmaster.pid"|pre-existing shared memory/.test(failure) || (anyPort && portTaken.test(failure));
}

function startError(paths: ClusterPaths, port: number, failure: string): EmbeddedPostgresError {
  if (portTaken.test(failure)) {
    return new EmbeddedPostgresError(
      `Port ${port} is taken by another program: stop that, or choose another port for the embedded PostgreSQL.`,
    );
  }
  // Messages about clients that are refused during startup do not explain why it fails.
  const reason =
    /(?:FATAL|PANIC): +(?! |the database system is )(.*)/.exec(failure)?.[1] ?? failure.trim().split("\n").at(-1);
  return new EmbeddedPostgresError(
    `The embedded PostgreSQL does not start on ${paths.cluster} (${reason}): see ${paths.log}; if the folder is damaged, restore it from a backup, or move it away to begin with an empty database.`,
  );
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, "close");
  return port;
}

async function fileBytes(path: string): Promise<number> {
  return (await stat(path).catch(() => undefined))?.size ?? 0;
}
