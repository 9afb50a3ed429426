/** Whether the database fits this release and this master key. Nothing is changed in it. */
import type { Config } from "#config.ts";
import { checkDatabase } from "#db/check-database.ts";
import { createDatabase } from "#db/database.ts";
import { DatabaseUnavailable } from "#db/errors.ts";
import { listMissingMigrations } from "#db/migrate.ts";
import { MigrationError } from "#db/migration-files.ts";
import { statement } from "#db/statement.ts";
import { createLog } from "#lib/log.ts";
import { type Sealer, UnreadableSecret } from "#lib/sealed-secret.ts";
import { apiSecretRow } from "#resellers/key-store.ts";

/** A rotation reseals them one by one, so the oldest and the newest may be under two keys. */
const someSealed = statement(
  "check-sealed",
  `(SELECT id, secret_sealed FROM api_keys ORDER BY reseller_id, id LIMIT 1)
   UNION ALL (SELECT id, secret_sealed FROM api_keys ORDER BY reseller_id DESC, id DESC LIMIT 1)`,
  { id: "text", secret_sealed: "bytea" },
);

/** @param sealer undefined when the master key is a mistake of its own @throws DatabaseUnavailable */
export async function databaseMistakes(config: Config, role: string, sealer: Sealer | undefined): Promise<string[]> {
  const { databaseUrl, databaseDemands } = config;
  try {
    const { findings } = await checkDatabase(databaseUrl, role, databaseDemands);
    const refused = findings.filter(({ weight }) => weight === "refused");
    if (refused.length > 0) return refused.map(({ sentence }) => sentence);
    const missing = await listMissingMigrations(databaseUrl);
    if (missing.length > 0) {
      return [
        `DATABASE_URL: the database lacks ${missing.length} of this release's migrations, the first is ${missing[0]}: run deedhouse migrate`,
      ];
    }
    return sealer ? await masterKeyMistakes(databaseUrl, sealer) : [];
  } catch (error) {
    if (error instanceof DatabaseUnavailable) throw error;
    const { message } = error as Error;
    return [error instanceof MigrationError ? `DATABASE_URL: ${message}` : message];
  }
}

async function masterKeyMistakes(url: string, sealer: Sealer): Promise<string[]> {
  const log = createLog("check", "silent");
  const limits = { transactionsMax: 1, pipelinedConnections: 1, applicationName: "deedhouse-check" };
  const database = createDatabase({ url, log, ...limits });
  try {
    const rows = await database.query(someSealed, {});
    for (const { id, secret_sealed } of rows) sealer.open(apiSecretRow(id), secret_sealed);
    return [];
  } catch (error) {
    if (!(error instanceof UnreadableSecret)) throw error;
    return [`DEEDHOUSE_MASTER_KEY does not open what the database holds: ${error.message}`];
  } finally {
    await database.close();
  }
}
