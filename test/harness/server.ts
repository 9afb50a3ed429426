import { mkdtemp, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEmbeddedPostgres } from "#db/embedded.ts";
import { migrate } from "#db/migrate.ts";
import { createLog } from "#lib/log.ts";
import { runSql } from "./sql.ts";

export interface TestServer {
  /** Of the template database: the migrated schema, no rows, and nobody connects to it. */
  templateUrl: string;
  stop(): Promise<void>;
}

/** Nothing in a test outlives its server, so nothing needs to reach the disk. */
const volatile = { fsync: "off", synchronous_commit: "off", full_page_writes: "off", autovacuum: "off" };

/** Several test files at once, each with a pool or two. */
const connectionsMax = "300";

/** Starts a PostgreSQL in a temporary folder with a migrated template database to clone. */
export async function startTestServer(): Promise<TestServer> {
  const dataDir = await mkdtemp(join(await quickFolder(), "deedhouse-test-"));
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

const memoryFolder = "/dev/shm";
const memoryFreeBytesMin = 1024 ** 3;

/**
 * A folder in memory, where there is one with room. Cloning a database takes 20 ms there and up to 400 ms on ext4,
 * which searches long for an inode that was not deleted in the last seconds (ext4's recently_deleted()).
 */
async function quickFolder(): Promise<string> {
  const { bavail, bsize } = await statfs(memoryFolder).catch(() => ({ bavail: 0, bsize: 0 }));
  return bavail * bsize >= memoryFreeBytesMin ? memoryFolder : tmpdir();
}
