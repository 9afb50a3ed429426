/** When a node was last there, and what to say when that is long ago: nobody may notice its sites' silence but us. */
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { hasAgent } from "#hosting/nodes/nodes.ts";

const awayAfterMs = 10 * 60_000;

// Nodes with an agent are seen at their door. A busy node answers all the time, and need not be written down each time.
const writeSeen = statement(
  "hosting-node-seen",
  `UPDATE hosting_nodes SET last_seen_at = $2 WHERE id = $1 AND NOT (${hasAgent})
     AND (last_seen_at IS NULL OR last_seen_at < $2::timestamptz - interval '10 seconds')`,
  {},
);

/** A node that is asked directly has answered. */
export async function recordSeen({ database, clock }: Context, nodeId: string): Promise<void> {
  await database.query(writeSeen, [nodeId, clock.now()]);
}

/** What is asked all the time, as all nodes but panels are, is written down as seen more often than this. */
const silentAfterMs = 60_000;

const lastSeen = `coalesce((SELECT last_seen_at FROM node_channels WHERE node_id = hosting_nodes.id),
  hosting_nodes.last_seen_at, hosting_nodes.created_at)`;

// While no worker ran, nobody may have asked the node: its silence counts from the first look that finds it. A panel is asked
// every five minutes only: each answer ends a silence, also one that no look has found fresh.
const writeSilence = statement(
  "hosting-nodes-silent",
  `UPDATE hosting_nodes SET silent_since = CASE WHEN ${lastSeen} < $2 THEN $1::timestamptz END
   WHERE CASE WHEN ${lastSeen} < $2 THEN silent_since IS NULL OR silent_since < ${lastSeen}
     ELSE silent_since IS NOT NULL END`,
  {},
);

// Of a node that is gone the alarm is over too.
const absences = statement(
  "hosting-nodes-absent",
  `SELECT coalesce(node.id, subject) AS id, last_at, coalesce(silent_since < $1, false) AS is_away
   FROM (SELECT id, silent_since, ${lastSeen} AS last_at FROM hosting_nodes
     WHERE NOT (${hasAgent}) OR EXISTS (SELECT FROM node_channels
       WHERE node_id = hosting_nodes.id AND public_key IS NOT NULL)) AS node
   FULL JOIN (SELECT subject FROM alarms WHERE kind = 'hosting-node-away' AND resolved_at IS NULL) AS told
     ON subject = node.id
   WHERE subject IS NOT NULL OR silent_since < $1`,
  { id: "text?", last_at: "timestamptz?", is_away: "bool?" },
);

/** Raises an alarm for each node that has been silent for ten minutes of looking, and resolves those of nodes that answer. */
export async function tellOfAbsentNodes(context: Context): Promise<void> {
  const nowMs = context.clock.now().getTime();
  await context.database.query(writeSilence, [new Date(nowMs), new Date(nowMs - silentAfterMs)]);
  for (const { id, last_at, is_away } of await context.database.query(absences, [new Date(nowMs - awayAfterMs)])) {
    const alarm = { kind: "hosting-node-away", subject: id ?? "" } as const;
    if (is_away) await raiseAlarm(context, { ...alarm, note: `has not answered since ${last_at?.toISOString()}` });
    else await resolveAlarm(context, alarm);
  }
}
