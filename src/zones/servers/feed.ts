/** What role `dns` gives name servers, from the database. */
import type { Context } from "#context.ts";
import type { Feed, FeedKey } from "#dns/feed.ts";
import type { ServedZone } from "#dns/served-zone.ts";
import { beaconName, catalogName, findBeacon, findCatalog, readCatalog } from "#zones/servers/catalog.ts";
import { isFed, readServers, type ServerWithKeys } from "#zones/servers/rows.ts";

/** Strangers who sign anything must not make the database work for each message. */
const serversFreshMs = 500;

export function createFeed(
  context: Pick<Context, "database" | "sealer" | "clock">,
  findZoneAbove: (name: string) => Promise<ServedZone | undefined>,
): Feed {
  const { clock } = context;
  let read: { atMs: number; servers: Promise<ServerWithKeys[]> } | undefined;
  const servers = () => {
    if (!read || clock.monotonicMs() - read.atMs > serversFreshMs) {
      const started = { atMs: clock.monotonicMs(), servers: readServers(context) };
      read = started;
      started.servers.catch(() => {
        if (read === started) read = undefined;
      });
    }
    return read.servers;
  };
  return {
    async keysFor(address) {
      const known = await servers();
      if (!known.some((server) => server.address === address)) return undefined;
      const now = clock.now();
      return known.flatMap((server) => {
        const state = { isFromHere: server.address === address, isFed: isFed(server, now) };
        return server.keys.map((key): FeedKey => ({ ...key, ...state }));
      });
    },
    async findZone(name) {
      if (name.endsWith(".zones.invalid")) {
        const catalog = await readCatalog(context);
        if (catalog && name === catalogName(catalog.label)) return findCatalog(context);
        if (catalog && name === beaconName(catalog.label)) return findBeacon(context, catalog.label);
        return undefined;
      }
      const zone = await findZoneAbove(name);
      return zone?.name === name ? zone : undefined;
    },
    now: () => Math.floor(clock.now().getTime() / 1_000),
  };
}
