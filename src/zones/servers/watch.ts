/**
 * Asks each name server, every minute, what it shows of the beacon. Only a server that shows a serial of this database is fed: one that
 * shows a later serial than this database has ever issued was fed by a later state of it, so a backup was restored here.
 */
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { askSignedSerial, NoAnswer, sendNotify } from "#dns/client.ts";
import { rcode } from "#dns/wire.ts";
import { isAway } from "#zones/servers/ask.ts";
import { beaconName, catalogName, isOwnBeacon, issueNextBeacon, readCatalog } from "#zones/servers/catalog.ts";
import { knownServer, readServers, type ServerWithKeys } from "#zones/servers/rows.ts";

const writeProof = statement(
  "name-server-proof",
  `UPDATE name_servers SET proven_at = CASE WHEN $is_proven THEN $now ELSE proven_at END, is_ahead = $is_ahead, problem = $problem,
     beacon_serial = coalesce($serial, beacon_serial), seen_at = CASE WHEN $is_seen THEN $now ELSE seen_at END
   WHERE id = $id`,
  {},
);
const writeUsed = statement(
  "name-server-key-used",
  "UPDATE name_server_keys SET used_at = $now WHERE name = $name",
  {},
);

// What it was asked last shows another serial, ten minutes after a change.
const behind = statement(
  "name-servers-behind",
  `SELECT shown.name, count(*) AS zones FROM zones, jsonb_to_recordset(zones.shown) AS shown (name text, serial int8)
   WHERE zones.state = 'Publishing' AND shown.serial IS DISTINCT FROM zones.serial AND EXISTS (
     SELECT FROM zone_changes WHERE zone_id = zones.id AND zone_changes.served_at IS NULL
       AND at < $now::timestamptz - interval '10 minutes')
   GROUP BY shown.name`,
  { name: "text", zones: "int8" },
);

interface Proof {
  isProven: boolean;
  isSeen: boolean;
  isAhead: boolean;
  serial: number | null;
  problem: string | null;
}

/** The chore of every minute. */
export async function watchServers(context: Context): Promise<void> {
  const catalog = await readCatalog(context);
  if (!catalog) return;
  await issueNextBeacon(context);
  const servers = await readServers(context);
  const proofs = await Promise.all(servers.map((server) => prove(context, server, catalog.label)));
  const late = await context.database.query(behind, { now: context.clock.now() });
  for (const [index, server] of servers.entries()) {
    const waiting = late.find(({ name }) => name === server.host_name)?.zones ?? 0;
    await updateAlarms(context, server, proofs[index]!, waiting);
  }
}

async function prove(context: Context, server: ServerWithKeys, label: string): Promise<Proof> {
  const { database, clock } = context;
  const { proof, key } = await askBeacon(context, server, beaconName(label));
  const { isProven, isSeen, isAhead, serial, problem } = proof;
  const written = { is_proven: isProven, is_seen: isSeen, is_ahead: isAhead, serial, problem };
  await database.query(writeProof, { ...written, id: server.id, now: clock.now() });
  if (key) await database.query(writeUsed, { name: key.name.slice(0, -1), now: clock.now() });
  // Lost or not: in a minute it is told again.
  const told = knownServer(server, key);
  if (isProven) await sendNotify(context, told, catalogName(label));
  if (isProven) await sendNotify(context, told, beaconName(label));
  return proof;
}

async function askBeacon(context: Context, server: ServerWithKeys, beacon: string) {
  const proof: Proof = { isProven: false, isSeen: false, isAhead: server.is_ahead, serial: null, problem: null };
  for (const key of server.keys) {
    try {
      const answer = await askSignedSerial(context, knownServer(server, key), beacon);
      return { key, proof: await judge(context, server, answer) };
    } catch (error) {
      if (!(error instanceof NoAnswer)) throw error;
      proof.problem = error.message;
      proof.isSeen ||= error.rcode !== undefined;
      // Knot does not sign what it says of a zone that it does not have.
      const { refused, servFail } = rcode;
      const hasNone = error.rcode === refused || error.rcode === servFail;
      if (hasNone) return { key: undefined, proof: await judge(context, server, { rcode: error.rcode! }) };
    }
  }
  return { key: undefined, proof };
}

async function judge(
  context: Context,
  { beacon_serial: before, is_ahead: isAhead }: ServerWithKeys,
  answer: { serial: number } | { rcode: number },
): Promise<Proof> {
  const seen = { isSeen: true, isAhead, serial: null, problem: null };
  if ("rcode" in answer) {
    if (before === null) return { ...seen, isProven: true };
    const problem = `It has no beacon any more (rcode ${answer.rcode}). If it was set up anew, remove it here and add it again.`;
    return { ...seen, isProven: false, problem };
  }
  const { serial } = answer;
  if (await isOwnBeacon(context, serial)) return { ...seen, isProven: true, isAhead: false, serial };
  const problem = `It has the serial ${serial} of the beacon, which this database has never issued.`;
  return { ...seen, isProven: false, isAhead: true, serial, problem };
}

async function updateAlarms(context: Context, server: ServerWithKeys, proof: Proof, waiting: number): Promise<void> {
  const subject = server.id;
  if (proof.isAhead) {
    const note = `${proof.problem ?? "It is ahead of this database."} It gets no zones until deedhouse zones adopt`;
    await raiseAlarm(context, { kind: "name-server-restored", subject, note });
  } else await resolveAlarm(context, { kind: "name-server-restored", subject });
  const isGone = !proof.isSeen && isAway(server, context.clock.now());
  const isBlank = proof.isSeen && !proof.isProven && !proof.isAhead;
  const reasons = [
    isGone && `It has not answered for five minutes. ${proof.problem}`,
    isBlank && proof.problem,
    waiting > 0 && `It does not show changes of ${waiting} zones after ten minutes.`,
  ].filter((reason) => typeof reason === "string");
  if (reasons.length === 0) await resolveAlarm(context, { kind: "name-server", subject });
  else await raiseAlarm(context, { kind: "name-server", subject, note: reasons.join(" ") });
}
