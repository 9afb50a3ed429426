import { access, mkdtemp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { migrate } from "#db/migrate.ts";
import { sleep } from "#lib/clock.ts";
import { createLog } from "#lib/log.ts";
import { pathsIn } from "#postgres/cluster.ts";
import { startEmbeddedPostgres } from "#postgres/embedded.ts";
import { findRunningServer, isClaimedByAnother, isRunning } from "#postgres/process.ts";
import { quickFolder } from "./quick-folder.ts";
import { runSql } from "./sql.ts";

export interface TestServer {
  /** The URL of the template database: the migrated schema, no rows, no connections. */
  templateUrl: string;
  stop(): Promise<void>;
}

/** No test's data outlives its server, so nothing needs to reach the disk. */
const volatile = {
  fsync: "off",
  synchronous_commit: "off",
  full_page_writes: "off",
  autovacuum: "off",
  max_wal_size: "256MB",
};

/** For several test files at once, each with a pool or two. */
const connectionsMax = "300";

/** A login hashes the password 4096 times otherwise, which takes the client 1 ms; the suite logs in some ten thousand times. */
const cheapLogins = ({ username, password }: URL) =>
  `SET scram_iterations = 1; ALTER ROLE ${username} PASSWORD '${password}'`;

const folderPrefix = "deedhouse-test-";

/** Starts a PostgreSQL in a temporary folder with a migrated template database to clone. */
export async function startTestServer(): Promise<TestServer> {
  const folder = await quickFolder();
  await removeOrphans(folder);
  const dataDir = await mkdtemp(join(folder, folderPrefix));
  const removeFolder = () => rm(dataDir, { recursive: true, force: true });
  try {
    const server = await startEmbeddedPostgres({
      dataDir,
      port: 0,
      log: createLog("test", "warn"),
      settings: { ...volatile, max_connections: connectionsMax },
    });
    const stop = async () => {
      await server.stop();
      await removeFolder();
    };
    try {
      await migrate(server.url);
      await runSql(server.url, cheapLogins(new URL(server.url)));
      await runSql(server.url, "CHECKPOINT");
      return { templateUrl: server.url, stop };
    } catch (error) {
      await stop();
      throw error;
    }
  } catch (error) {
    await removeFolder();
    throw error;
  }
}

/**
 * Removes the servers of killed test runs, which would otherwise stay for ever: nobody starts on their folders again.
 */
async function removeOrphans(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!name.startsWith(folderPrefix)) continue;
    // Read only: another run may be removing its folder at this moment.
    const paths = pathsIn(join(folder, name));
    // A folder without a claim may belong to a server that is just starting.
    const wasClaimed = await access(paths.supervisor).then(
      () => true,
      () => false,
    );
    if (!wasClaimed || (await isClaimedByAnother(paths))) continue;
    const orphan = await findRunningServer(paths);
    if (orphan) process.kill(orphan.pid, "SIGQUIT");
    while (orphan && (await isRunning(orphan.pid))) await sleep(orphanPollMs);
    await rm(paths.dataDir, { recursive: true, force: true });
  }
}

const orphanPollMs = 20;
