/** A backup of a test's database, and its restoring beneath whatever works on it. */
import type { Scope } from "./database.ts";
import { endAllSessions, runSql } from "./sql.ts";

export interface Backup {
  /** The database is as it was when the backup was made. Its sessions are cut, and come back to the older one. */
  restore(): Promise<void>;
}

/** What is under way in the database is cut. Processes stand still meanwhile, or take a refused connection for a fault. */
export async function backUp(scope: Scope, databaseUrl: string): Promise<Backup> {
  const admin = new URL(databaseUrl);
  const name = admin.pathname.slice(1);
  const [kept, lost] = [`${name}_backup`, `${name}_lost`];
  admin.pathname = "/postgres";
  const sql = (text: string) => runSql(admin.href, text);
  scope.after(async () => {
    for (const other of [kept, lost]) await sql(`DROP DATABASE IF EXISTS ${other} WITH (FORCE)`);
  });
  /** Neither is possible while somebody is connected, and whoever is cut comes back. */
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
