/** Backs up a test's database, and restores it while processes use it. */
import type { Scope } from "./database.ts";
import { endAllSessions, runSql } from "./sql.ts";

export interface Backup {
  /** Restores the state of the backup. Its sessions are cut, and reconnect to the older database. */
  restore(): Promise<void>;
}

/**
 * Cuts everything in progress in the database. Pause the processes in the meantime, or they take the refused connection
 * for a fault.
 * @param label tells several backups of a database apart
 */
export async function backUp(scope: Scope, databaseUrl: string, label = "1"): Promise<Backup> {
  const admin = new URL(databaseUrl);
  const name = admin.pathname.slice(1);
  const [kept, lost] = [`${name}_backup_${label}`, `${name}_lost_${label}`];
  admin.pathname = "/postgres";
  const sql = (text: string) => runSql(admin.href, text);
  scope.after(async () => {
    for (const other of [kept, lost]) await sql(`DROP DATABASE IF EXISTS ${other} WITH (FORCE)`);
  });
  /** Neither works while somebody is connected, and disconnected processes reconnect. */
  const alone = async (text: string) => {
    await sql(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
    await endAllSessions(admin.href, name);
    await sql(text);
  };
  await alone(`CREATE DATABASE ${kept} TEMPLATE ${name} STRATEGY FILE_COPY`);
  await sql(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
  return {
    async restore() {
      await alone(`ALTER DATABASE ${name} RENAME TO ${lost}`);
      await sql(`ALTER DATABASE ${kept} RENAME TO ${name}`);
    },
  };
}
