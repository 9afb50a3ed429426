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
import { release } from "#lib/release.ts";
import { createSealer, parseNamedKey } from "#lib/sealed-secret.ts";
import { refuseMistakes } from "#lib/settings.ts";
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
 * @throws WrongSetting that names each wrong file or variable
 */
export function buildContext(config: Config, role: string): OpenContext {
  const { sealer, registries, webhooks, names, commonPasswords, mistakes } = readNamed(config);
  refuseMistakes(mistakes);
  const log = createLog(role, config.logLevel);
  const clock = systemClock;
  const random = systemRandom;
  const database = createDatabase({
    url: config.databaseUrl,
    transactionsMax,
    ...(role === "api" && { lockTimeoutMs: requestLockTimeoutMs }),
    applicationName: `deedhouse-${role} ${release}`,
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
    sealer: sealer!,
    registries: registries!,
    passwordQueue: createPasswordQueue({ waitingMax: passwordsWaitingMax, cost: bcryptCost, random }),
    commonPasswords: commonPasswords ? () => Promise.resolve(commonPasswords) : loadCommonPasswords,
    reservedHosts: config.reservedHosts,
    checkBudgetMs: config.checkBudgetMs,
    checkFreshMs: config.checkFreshMs,
    authCodeHours: config.authCodeHours,
    contactMonths: config.contactMonths,
    messageDays: config.messageDays,
    webhooks: webhooks!,
    zones: config.zones,
    siteDomain: config.siteDomain,
    bareIdentifiers: config.deployment === "sandbox",
    names: names!,
    async close() {
      await Promise.all([listener.close(), database.close()]);
    },
  };
}

/**
 * What settings name: keys, files, ranges and servers. An error in them is one of the setting, and an error at the start, not at
 * first use.
 * @returns undefined for what has a mistake, and for what is not set
 */
export function readNamed(config: Config) {
  const { masterKeys, registriesFile, commonPasswordsFile, dnsServers } = config;
  const mistakes: string[] = [];
  const read = <Value>(setting: string, readIt: () => Value): Value | undefined => {
    try {
      return readIt();
    } catch (error) {
      mistakes.push(`${setting}: ${(error as Error).message}`);
      return undefined;
    }
  };
  const keys = () => createSealer({ keys: masterKeys.map(parseNamedKey), random: systemRandom });
  return {
    mistakes,
    sealer: masterKeys.length === 0 ? undefined : read("DEEDHOUSE_MASTER_KEY", keys),
    registries:
      registriesFile === "" ? undefined : read("DEEDHOUSE_REGISTRIES_FILE", () => loadRegistries(registriesFile)),
    commonPasswords:
      commonPasswordsFile === undefined
        ? undefined
        : read("DEEDHOUSE_COMMON_PASSWORDS_FILE", () => readCommonPasswords(commonPasswordsFile)),
    names: read("DEEDHOUSE_DNS_SERVERS", () => createNameLookups(dnsServers)),
    webhooks: read("DEEDHOUSE_WEBHOOK_RANGES, DEEDHOUSE_WEBHOOK_CA_FILE", () => readWebhookSettings(config)),
  };
}

function readWebhookSettings({ webhookRanges: ranges, webhookPlainHttp, webhookCaFile }: Config): Context["webhooks"] {
  parseRanges(ranges);
  const ca = webhookCaFile === undefined ? undefined : readFileSync(webhookCaFile, "utf8");
  return { ranges, allowsPlainHttp: webhookPlainHttp, ca };
}
