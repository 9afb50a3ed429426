import { readFileSync } from "node:fs";
import type { Config } from "#config.ts";
import type { Context } from "#context.ts";
import { createAcknowledged } from "#db/acknowledged.ts";
import { createDatabase } from "#db/database.ts";
import { createListener } from "#db/listener.ts";
import { systemClock } from "#lib/clock.ts";
import { loadCommonPasswords, readCommonPasswords } from "#lib/ftp-password.ts";
import { createLog } from "#lib/log.ts";
import { parseRanges } from "#lib/net/address-ranges.ts";
import { createNameLookups } from "#lib/net/name-lookups.ts";
import { bcryptCost, createPasswordQueue } from "#lib/queues/password-queue.ts";
import { systemRandom } from "#lib/random.ts";
import { createSealer, parseNamedKey } from "#lib/sealed-secret.ts";
import { WrongSetting } from "#lib/settings.ts";
import { loadRegistries } from "#registry/registries.ts";

const transactionsMax = 10;
/** A request that waits for a row longer gives its connection to others. */
const requestLockTimeoutMs = 250;
const passwordsWaitingMax = 32;

export interface OpenContext extends Context {
  close(): Promise<void>;
}

/**
 * Builds the context of a process. Connections open on first use.
 * @param role the process's name, for logs and pg_stat_activity
 * @throws WrongSetting that names the wrong file or variable
 */
export function buildContext(config: Config, role: string): OpenContext {
  const log = createLog(role, config.logLevel);
  const clock = systemClock;
  const random = systemRandom;
  const database = createDatabase({
    url: config.databaseUrl,
    transactionsMax,
    ...(role === "api" && { lockTimeoutMs: requestLockTimeoutMs }),
    applicationName: `deedhouse-${role}`,
    demands: config.databaseDemands,
    log,
  });
  const listener = createListener({ url: config.databaseUrl, clock, log, database, demands: config.databaseDemands });
  return {
    database,
    listener,
    acknowledged: createAcknowledged(clock),
    clock,
    random,
    log,
    sealer: asSet(() => createSealer({ keys: config.masterKeys.map(parseNamedKey), random })),
    registries: asSet(() => loadRegistries(config.registriesFile)),
    passwordQueue: createPasswordQueue({ waitingMax: passwordsWaitingMax, cost: bcryptCost, random }),
    commonPasswords: commonPasswordsOf(config),
    reservedHosts: config.reservedHosts,
    checkBudgetMs: config.checkBudgetMs,
    checkFreshMs: config.checkFreshMs,
    authCodeHours: config.authCodeHours,
    contactMonths: config.contactMonths,
    messageDays: config.messageDays,
    webhooks: asSet(() => readWebhookSettings(config)),
    siteDomain: config.siteDomain,
    bareIdentifiers: config.deployment === "sandbox",
    names: asSet(() => createNameLookups(config.dnsServers)),
    async close() {
      await Promise.all([listener.close(), database.close()]);
    },
  };
}

/** A range or a file that is wrong is an error at the start, not at the first webhook. */
function readWebhookSettings({ webhookRanges: ranges, webhookPlainHttp, webhookCaFile }: Config): Context["webhooks"] {
  parseRanges(ranges);
  const ca = webhookCaFile === undefined ? undefined : readFileSync(webhookCaFile, "utf8");
  return { ranges, allowsPlainHttp: webhookPlainHttp, ca };
}

function commonPasswordsOf({ commonPasswordsFile }: Config): Context["commonPasswords"] {
  const own = commonPasswordsFile === undefined ? undefined : asSet(() => readCommonPasswords(commonPasswordsFile));
  return own ? () => Promise.resolve(own) : loadCommonPasswords;
}

/** Reads what a setting names: an error in that file is an error of the setting. */
function asSet<Value>(read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    throw new WrongSetting((error as Error).message, { cause: error });
  }
}
