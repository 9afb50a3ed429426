/** Once a night every public name server is asked for every zone: what it does not show is published again. */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { isAtLeast } from "#dns/serials.ts";
import { sleep } from "#lib/clock.ts";
import { askSerial } from "#lib/net/name-lookups.ts";
import { listServers } from "#zones/servers/rows.ts";

/** Asked together, once a second. */
const zonesPerSecond = 200;

const nextZones = statement(
  "zones-to-ask",
  `SELECT id, domain_name, serial, revision FROM zones WHERE id > $after AND state <> 'Withdrawn' ORDER BY id LIMIT ${zonesPerSecond}`,
  { id: "int8", domain_name: "text", serial: "int8", revision: "int8" },
);
const publishAgain = statement(
  "zone-publish-again",
  `UPDATE zones SET state = 'Publishing', checks = 0, next_step_at = $now, updated_at = $now
   WHERE id = $id AND revision = $revision AND state = 'Active'`,
  {},
);

export async function checkAllSerials(context: Context): Promise<void> {
  const { database, clock, log } = context;
  const servers = (await listServers(context)).filter(({ is_public: isPublic }) => isPublic);
  const { signal } = new AbortController();
  let after = 0;
  while (servers.length > 0) {
    const zones = await database.query(nextZones, { after });
    if (zones.length === 0) return;
    for (const { address: host, port, id: server } of servers) {
      const ask = async ({ id, domain_name: name, serial: wanted, revision }: (typeof zones)[number]) => {
        const { serial } = await askSerial({ host, port }, name, signal);
        if (serial !== null && isAtLeast(serial, wanted)) return;
        log.warn(
          { server, zone: name, serial, wanted },
          "a name server does not show a zone, which is published again",
        );
        await database.query(publishAgain, { id, revision, now: clock.now() });
      };
      await Promise.all([...zones.map(ask), sleep(1_000)]);
    }
    after = zones.at(-1)!.id;
  }
}
