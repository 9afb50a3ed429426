/** Transfers zones from a name server, and compares them record by record with what is served from here. */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { NoAnswer, transferZone } from "#dns/client.ts";
import { apex } from "#dns/names.ts";
import type { RecordSet } from "#dns/records.ts";
import { createZoneFinder } from "#zones/find.ts";
import { knownServer, readServers } from "#zones/servers/rows.ts";
import { differences, readTransferred } from "#zones/servers/transferred.ts";

const names = statement(
  "compare-names",
  "SELECT domain_name FROM zones WHERE state <> 'Withdrawn' AND ($name::text IS NULL OR domain_name = $name) ORDER BY domain_name",
  { domain_name: "text" },
);

export interface Compared {
  server: string;
  zone: string;
  problem: string;
}

/** @param name null: all zones @returns what is not as it is here */
export async function compareZones(
  context: Pick<Context, "database" | "sealer" | "clock" | "random">,
  name: string | null,
): Promise<{ zones: number; found: Compared[] }> {
  const servers = await readServers(context);
  const findZone = createZoneFinder(context);
  const zones = await context.database.query(names, { name });
  const found: Compared[] = [];
  for (const { domain_name: zone } of zones) {
    const here = await findZone(zone);
    if (!here || here.name !== zone) continue;
    const isOwn = ({ owner, type }: { owner: string; type: string }) =>
      type === "SOA" || (owner === apex && type === "NS");
    const ours = here.sets.filter((set) => !isOwn(set)) as RecordSet[];
    for (const server of servers) {
      const problem = await problemOf(context, knownServer(server), zone, { serial: here.serial, sets: ours });
      if (problem) found.push({ server: server.id, zone, problem });
    }
  }
  return { zones: zones.length, found };
}

async function problemOf(
  context: Pick<Context, "clock" | "random">,
  server: ReturnType<typeof knownServer>,
  zone: string,
  here: { serial: number; sets: RecordSet[] },
): Promise<string | undefined> {
  try {
    const theirs = readTransferred(zone, await transferZone(context, server, zone));
    if (theirs.serial !== here.serial) return `the serial is ${theirs.serial} there, ${here.serial} here`;
    const { only_there: there, only_here: only } = differences(theirs.sets, here.sets);
    if (there.length + only.length === 0) return undefined;
    return [...there.map((set) => `only there: ${set}`), ...only.map((set) => `only here: ${set}`)].join("; ");
  } catch (error) {
    if (error instanceof NoAnswer) return error.message;
    throw error;
  }
}
