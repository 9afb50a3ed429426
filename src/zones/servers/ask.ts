/** Tells the name servers of a zone's change, and asks them what they serve. */
import type { Context } from "#context.ts";
import { isAtLeast } from "#dns/serials.ts";
import { askSerial } from "#lib/net/name-lookups.ts";
import type { ShownServer } from "#zones/rows.ts";
import type { Notifier } from "#zones/servers/notify.ts";
import { isFed, readServers, type ServerWithKeys } from "#zones/servers/rows.ts";

/** A server that has not answered for so long holds up no change. */
export const awayAfterMs = 5 * 60_000;

export const isAway = ({ seen_at: seenAt, created_at: createdAt }: ServerWithKeys, now: Date): boolean =>
  now.getTime() - (seenAt ?? createdAt).getTime() >= awayAfterMs;

export interface AskedZone {
  domain_name: string;
  serial: number;
  name_servers: string[];
}

/** What the public name servers show, and whether the zone counts as served: by one of them, and by each that is not away. */
export async function askServers(
  context: Context,
  zone: AskedZone,
  signal: AbortSignal,
  notifier: Notifier,
): Promise<{ shown: ShownServer[]; isServed: boolean }> {
  const servers = await readServers(context);
  const now = context.clock.now();
  const fed = servers.filter((server) => isFed(server, now));
  await notifier.tell(fed, zone.domain_name);
  const isShown = ({ serial }: ShownServer) => serial !== null && isAtLeast(serial, zone.serial);
  const listed = servers.filter(({ is_public: isPublic }) => isPublic);
  if (listed.length === 0) {
    // The one public server is role `dns`, and has all the names.
    const { host, port } = context.zones;
    const answer = await ask("", host, port, zone, signal);
    return { shown: zone.name_servers.map((name) => ({ ...answer, name })), isServed: isShown(answer) };
  }
  const shown = await Promise.all(
    listed.map(({ host_name: name, address, port }) => ask(name, address, port, zone, signal)),
  );
  const counts = listed.map((server, index) => {
    const { serial } = shown[index]!;
    return isShown(shown[index]!) || (serial === null && isAway(server, now));
  });
  return { shown, isServed: shown.some(isShown) && counts.every(Boolean) };
}

async function ask(name: string, host: string, port: number, zone: AskedZone, signal: AbortSignal) {
  const { serial, problem } = await askSerial({ host, port }, zone.domain_name, signal);
  return { name, serial, problem: problem && `It did not answer as it should: ${problem}.` } satisfies ShownServer;
}
