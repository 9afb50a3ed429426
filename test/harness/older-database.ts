import { copyFile, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Logger, runMigrations } from "graphile-worker";
import { migrate } from "#db/migrate.ts";
import { emptyDatabase, type Scope } from "./database.ts";

const migrations = new URL("../../db/migrations/", import.meta.url).pathname;
const log = new Logger(() => () => {});

/**
 * A database as an older release has left it, without rows; it is dropped after the test.
 * @param last the number of the last file that the release had, as in its name. Before 0028 it also has the job queue that
 * those releases used.
 */
export async function olderDatabase(scope: Scope, last: string): Promise<{ url: string }> {
  const { url } = await emptyDatabase(scope);
  const folder = await mkdtemp(join(tmpdir(), "deedhouse-migrations-"));
  scope.after(() => rm(folder, { recursive: true }));
  const names = (await readdir(migrations)).filter((name) => name.slice(0, 4) <= last);
  for (const name of names) await copyFile(join(migrations, name), join(folder, name));
  if (last < "0028") await runMigrations({ connectionString: url, logger: log });
  await migrate(url, { migrationsDir: folder });
  return { url };
}
