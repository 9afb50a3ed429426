import type { DnsConfig } from "#config-dns.ts";
import { createDatabase } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { startDnsServer } from "#dns/server.ts";
import { systemClock } from "#lib/clock.ts";
import { createLog } from "#lib/log.ts";
import { startStatusListener } from "#lib/net/status-listener.ts";
import { systemRandom } from "#lib/random.ts";
import { release } from "#lib/release.ts";
import { createSealer, parseNamedKey } from "#lib/sealed-secret.ts";
import { startMetrics } from "#metrics/metrics.ts";
import type { Role } from "#role.ts";
import { createZoneFinder } from "#zones/find.ts";
import { createFeed } from "#zones/servers/feed.ts";

const queriesMax = 8;

const ready = statement("dns-ready", "SELECT true AS is_there FROM zone_settings", { is_there: "bool" });

/** The role `dns`: answers from the database, and writes nothing. Any number of them may run. */
export async function startDnsRole({
  databaseUrl,
  zones,
  logLevel,
  status: settings,
  masterKeys,
}: DnsConfig): Promise<Role> {
  const log = createLog("dns", logLevel);
  const database = createDatabase({
    url: databaseUrl,
    transactionsMax: queriesMax,
    applicationName: `deedhouse-dns ${release}`,
    log,
  });
  const { host, port, answered } = zones;
  const findZone = createZoneFinder({ database });
  const sealer =
    masterKeys.length > 0 ? createSealer({ keys: masterKeys.map(parseNamedKey), random: systemRandom }) : undefined;
  const feed = sealer && createFeed({ database, sealer, clock: systemClock }, findZone);
  const server = await startDnsServer({ host, port, answered, findZone, feed, clock: systemClock, log });
  const whyNotReady = () =>
    database.query(ready, {}).then(
      () => undefined,
      () => "waiting for the database",
    );
  const own = { role: "dns", whyNotReady, log };
  const metrics = startMetrics({ ...own, clock: systemClock });
  const status = await startStatusListener(settings, { ...own, pages: { "/metrics": metrics.page } });
  log.info({ host, port: server.port }, "zones are answered");
  return {
    ready: { dnsPort: server.port, ...status.ready },
    async close() {
      await server.close();
      await status.close();
      metrics.close();
      await database.close();
    },
  };
}
