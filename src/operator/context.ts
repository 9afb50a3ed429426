import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { operatorEnvironment } from "#config.ts";
import { createDatabase } from "#db/database.ts";
import { systemClock } from "#lib/clock.ts";
import { createLog } from "#lib/log.ts";
import { systemRandom } from "#lib/random.ts";
import { createSealer, parseNamedKey, type Sealer } from "#lib/sealed-secret.ts";
import type { OperatorContext } from "#resellers/create.ts";
import { CommandFailure, exitCodes } from "../../client/cli/failures.ts";

export interface OpenOperatorContext extends OperatorContext {
  log: ReturnType<typeof createLog>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Opens the database for its operator: the one of DATABASE_URL, or else the one that `deedhouse start` runs.
 * @param dataDir the data folder of `deedhouse start`
 * @throws CommandFailure that says what to do
 */
export function openOperatorContext(dataDir: string): OpenOperatorContext {
  const databaseUrl = findDatabase(dataDir);
  const sealer = openSealer(operatorEnvironment().masterKeys, join(resolve(dataDir), "keys", "master.key"));
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
    sealer,
    clock: systemClock,
    random: systemRandom,
    [Symbol.asyncDispose]: () => database.close(),
  };
}

/** @throws CommandFailure that says what to do */
export function findDatabase(dataDir: string): string {
  const given = operatorEnvironment().databaseUrl;
  if (given !== undefined) return given;
  const file = join(resolve(dataDir), "keys", "instance.json");
  try {
    return (JSON.parse(readFileSync(file, "utf8")) as { database_url: string }).database_url;
  } catch {
    throw new CommandFailure(
      `no deedhouse is running on ${resolve(dataDir)}`,
      exitCodes.unavailable,
      "Start it with npm start, name its folder with --data DIR, or set DATABASE_URL and DEEDHOUSE_MASTER_KEY_FILE.",
    );
  }
}

function openSealer(given: string | undefined, file: string): Sealer {
  try {
    const keys = (given ?? readFileSync(file, "utf8")).split(/[\s,]+/).filter((key) => key !== "");
    return createSealer({ keys: keys.map(parseNamedKey), random: systemRandom });
  } catch (error) {
    throw new CommandFailure(`the master key cannot be read: ${(error as Error).message}`, exitCodes.usage);
  }
}
