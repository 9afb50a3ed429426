/** A PostgreSQL with a standby that replays its log: for tests of failovers. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { Client } from "pg";
import { createLog } from "#lib/log.ts";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "#postgres/embedded.ts";
import type { Scope } from "./database.ts";
import { quickFolder } from "./quick-folder.ts";
import { runSql } from "./sql.ts";

const settings = { fsync: "off", wal_level: "replica", max_wal_senders: "4", max_connections: "30" };
const log = createLog("test", "silent");

export interface OwnServer extends EmbeddedPostgres {
  dataDir: string;
}

/** A server of the test alone. @param given the folder of one that has ended */
export async function startOwnServer(
  scope: Scope,
  more: Record<string, string> = {},
  given?: string,
): Promise<OwnServer> {
  const dataDir = given ?? (await mkdtemp(join(await quickFolder(), "deedhouse-own-")));
  const server = await startEmbeddedPostgres({ dataDir, port: 0, log, settings: { ...settings, ...more } });
  scope.after(async () => {
    await server.stop();
    await rm(dataDir, { recursive: true, force: true });
  });
  return { ...server, dataDir };
}

/**
 * Copies a running server, as pg_basebackup does, and starts the copy as its standby.
 * @param port where it gets the primary's log: by default at its own port
 * @param more settings; it takes no fewer connections than its primary
 */
export async function startStandby(
  scope: Scope,
  primary: OwnServer,
  port = primary.port,
  more: Record<string, string> = {},
): Promise<OwnServer> {
  const dataDir = await mkdtemp(join(await quickFolder(), "deedhouse-standby-"));
  const client = new Client({ connectionString: primary.url });
  await client.connect();
  await client.query("SELECT pg_backup_start('standby', true)");
  await promisify(execFile)("cp", ["--archive", `${primary.dataDir}/.`, dataDir]);
  const { rows } = await client.query<{ labelfile: string }>("SELECT labelfile FROM pg_backup_stop()");
  await client.end();
  const cluster = join(dataDir, "cluster");
  for (const name of ["postmaster.pid", "postmaster.opts"]) await rm(join(cluster, name), { force: true });
  await rm(join(dataDir, "supervisor"), { force: true });
  await writeFile(join(cluster, "backup_label"), rows[0]!.labelfile);
  await writeFile(join(cluster, "standby.signal"), "");
  const { username, password } = new URL(primary.url);
  const primary_conninfo = `host=127.0.0.1 port=${port} user=${username} password=${password}`;
  return startOwnServer(scope, { ...more, primary_conninfo }, dataDir);
}

/** Waits until the standby has everything. */
export async function awaitStandby(primary: OwnServer, standby: OwnServer): Promise<void> {
  const [at] = await runSql<{ lsn: string }>(primary.url, "SELECT pg_current_wal_flush_lsn()::text AS lsn");
  const hasAll = "SELECT FROM pg_control_system() WHERE pg_last_wal_replay_lsn() >= $1::pg_lsn";
  while ((await runSql(standby.url, hasAll, [at!.lsn])).length === 0) await sleep(20);
}

/** Waits until the standby has everything, and lets it take the primary's place. */
export async function failOver(primary: OwnServer, standby: OwnServer): Promise<void> {
  await awaitStandby(primary, standby);
  await promote(primary, standby);
}

/** Ends the primary as a crash would, and promotes the standby. */
export async function promote(primary: OwnServer, standby: OwnServer): Promise<void> {
  process.kill(primary.pid, "SIGQUIT");
  await primary.exited;
  await runSql(standby.url, "SELECT pg_promote()");
}
