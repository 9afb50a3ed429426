import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { parseNamedKey } from "#build-context.ts";
import { operatorEnvironment } from "#config.ts";
import { createDatabase } from "#db/database.ts";
import { systemClock } from "#lib/clock.ts";
import { createLog } from "#lib/log.ts";
import { systemRandom } from "#lib/random.ts";
import { createSealer } from "#lib/sealed-secret.ts";
import type { OperatorContext } from "#resellers/create.ts";

export interface OpenOperatorContext extends OperatorContext {
  log: ReturnType<typeof createLog>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Opens the database as its operator: the one of DATABASE_URL, or else the one that `deedhouse start` runs.
 * @param dataDir the folder that `deedhouse start` was given
 * @throws Error with one sentence that says what to do
 */
export function openOperatorContext(dataDir: string): OpenOperatorContext {
  const given = operatorEnvironment();
  const databaseUrl = given.databaseUrl ?? runningDatabase(dataDir);
  const masterKeys = given.masterKeys ?? readFileSync(join(resolve(dataDir), "keys", "master.key"), "utf8");
  const keys = masterKeys.split(/[\s,]+/).filter((key) => key !== "");
  const log = createLog("operator", "silent");
  const database = createDatabase({
    url: databaseUrl,
    transactionsMax: 2,
    pipelinedConnections: 1,
    applicationName: "deedhouse-operator",
    log,
  });
  return {
    database,
    log,
    sealer: createSealer({ keys: keys.map(parseNamedKey), random: systemRandom }),
    clock: systemClock,
    random: systemRandom,
    [Symbol.asyncDispose]: () => database.close(),
  };
}

function runningDatabase(dataDir: string): string {
  const file = join(resolve(dataDir), "keys", "instance.json");
  try {
    return (JSON.parse(readFileSync(file, "utf8")) as { database_url: string }).database_url;
  } catch {
    throw new Error(
      `no deedhouse runs on ${resolve(dataDir)}: start it with npm start, name its folder with --data DIR, or set DATABASE_URL and DEEDHOUSE_MASTER_KEY_FILE`,
    );
  }
}
