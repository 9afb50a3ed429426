import { type Config, childEnvironment, readStatus } from "#config.ts";
import { readZones } from "#config-zones.ts";
import { createReader } from "#lib/settings.ts";

/** The settings of the role `dns`, which opens no secret. */
export type DnsConfig = Pick<Config, "logLevel" | "databaseUrl" | "zones" | "status">;

/** @throws WrongSetting that lists every mistake, one per line */
export function loadDnsConfig(): DnsConfig {
  const reader = createReader(childEnvironment({}));
  return reader.finish({
    logLevel: reader.text("DEEDHOUSE_LOG_LEVEL", "info"),
    databaseUrl: reader.text("DATABASE_URL"),
    zones: readZones(reader),
    status: readStatus(reader),
  });
}
