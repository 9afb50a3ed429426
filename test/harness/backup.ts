/** A backup of a test's database, and its restoring beneath whatever works on it. */
import { sleep } from "#lib/clock.ts";
import type { Scope } from "./database.ts";
import { endAllSessions, runSql } from "./sql.ts";

export interface Backup {
  /** The database is as it was when the backup was made. Its sessions are cut, and come back to the older one. */
  restore(): Promise<void>;
}

const triesMax = 200;
const pauseMs = 50;

/** What is under way in the database is cut. */
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
    for (let tries = 1; ; tries += 1) {
      await endAllSessions(admin.href, name);
      try {
        return await sql(text);
      } catch (error) {
        if (tries === triesMax || !/being accessed by other users/.test(String(error))) throw error;
        await sleep(pauseMs);
      }
    }
  };
  await alone(`CREATE DATABASE ${kept} TEMPLATE ${name} STRATEGY FILE_COPY`);
  return {
    async restore() {
      await alone(`ALTER DATABASE ${name} RENAME TO ${lost}`);
      await sql(`ALTER DATABASE ${kept} RENAME TO ${name}`);
    },
  };
}
