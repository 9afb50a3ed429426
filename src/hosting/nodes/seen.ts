/** When a node last answered, and the alarm when that is long ago: otherwise an outage of its sites might go unnoticed. */
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { hasAgent } from "#hosting/nodes/nodes.ts";

const awayAfterMs = 10 * 60_000;

// The agents' endpoint records nodes with an agent. A busy node answers all the time, so not every answer is stored.
const writeSeen = statement(
  "hosting-node-seen",
  `UPDATE hosting_nodes SET last_seen_at = $now WHERE id = $node_id AND NOT (${hasAgent})
     AND (last_seen_at IS NULL OR last_seen_at < $now::timestamptz - interval '10 seconds')`,
  {},
);

/** Records that a node without an agent has answered. */
export async function recordSeen({ database, clock }: Context, nodeId: string): Promise<void> {
  await database.query(writeSeen, { node_id: nodeId, now: clock.now() });
}

/** A node with an agent is recorded more often than this. */
const silentAfterMs = 60_000;

const lastSeen = `coalesce((SELECT last_seen_at FROM node_channels WHERE node_id = hosting_nodes.id),
  hosting_nodes.last_seen_at, hosting_nodes.created_at)`;

// While no worker ran, the node may not have been asked: its silence counts from the first check that finds it. A panel is
// asked only every five minutes, so each answer ends a silence, even if no check has found that answer fresh.
const writeSilence = statement(
  "hosting-nodes-silent",
  `UPDATE hosting_nodes SET silent_since = CASE WHEN ${lastSeen} < $fresh_after THEN $now::timestamptz END
   WHERE CASE WHEN ${lastSeen} < $fresh_after THEN silent_since IS NULL OR silent_since < ${lastSeen}
     ELSE silent_since IS NOT NULL END`,
  {},
);

// The alarm of a deleted node ends as well.
const absences = statement(
  "hosting-nodes-absent",
  `SELECT coalesce(node.id, subject) AS id, last_at, coalesce(silent_since < $away_since, false) AS is_away
   FROM (SELECT id, silent_since, ${lastSeen} AS last_at FROM hosting_nodes
     WHERE NOT (${hasAgent}) OR EXISTS (SELECT FROM node_channels
       WHERE node_id = hosting_nodes.id AND public_key IS NOT NULL)) AS node
   FULL JOIN (SELECT subject FROM alarms WHERE kind = 'hosting-node-away' AND resolved_at IS NULL) AS open_alarm
     ON subject = node.id
   WHERE subject IS NOT NULL OR silent_since < $away_since`,
  { id: "text?", last_at: "timestamptz?", is_away: "bool?" },
);

/** Raises an alarm for each node that has been silent for ten minutes of checks, and resolves those of nodes that answer. */
export async function updateAbsenceAlarms(context: Context): Promise<void> {
  const nowMs = context.clock.now().getTime();
  await context.database.query(writeSilence, { now: new Date(nowMs), fresh_after: new Date(nowMs - silentAfterMs) });
  const away_since = new Date(nowMs - awayAfterMs);
  for (const { id, last_at, is_away } of await context.database.query(absences, { away_since })) {
    const alarm = { kind: "hosting-node-away", subject: id ?? "" } as const;
    if (is_away) await raiseAlarm(context, { ...alarm, note: `has not answered since ${last_at?.toISOString()}` });
    else await resolveAlarm(context, alarm);
  }
}
