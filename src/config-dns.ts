import { type Config, childEnvironment, readStatus } from "#config.ts";
import { readZones } from "#config-zones.ts";
import { createReader } from "#lib/settings.ts";

/** The settings of the role `dns`. Master keys open those of the name servers; without any, none gets zones. */
export type DnsConfig = Pick<Config, "logLevel" | "databaseUrl" | "zones" | "status" | "masterKeys">;

/** @throws WrongSetting that lists every mistake, one per line */
export function loadDnsConfig(): DnsConfig {
  const reader = createReader(childEnvironment({}));
  return reader.finish({
    logLevel: reader.text("DEEDHOUSE_LOG_LEVEL", "info"),
    databaseUrl: reader.text("DATABASE_URL"),
    zones: readZones(reader),
    status: readStatus(reader),
    masterKeys: reader.list("DEEDHOUSE_MASTER_KEY"),
  });
}
