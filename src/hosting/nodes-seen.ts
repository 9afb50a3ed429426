/** When a node was last there, and what to say when that is long ago: nobody may notice its sites' silence but us. */
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";

const awayAfterMs = 10 * 60_000;

// Nodes with an agent are seen at their door. A busy node answers all the time, and need not be written down each time.
const writeSeen = statement(
  "hosting-node-seen",
  `UPDATE hosting_nodes SET last_seen_at = $2 WHERE id = $1 AND kind <> 'proftpd-nginx'
     AND (last_seen_at IS NULL OR last_seen_at < $2::timestamptz - interval '10 seconds')`,
  {},
);

/** A node that is asked directly has answered. */
export async function recordSeen({ database, clock }: Context, nodeId: string): Promise<void> {
  await database.query(writeSeen, [nodeId, clock.now()]);
}

// Of a node that is gone the alarm is over too.
const absences = statement(
  "hosting-nodes-absent",
  `SELECT coalesce(node.id, subject) AS id, seen.last_at, coalesce(greatest(seen.last_at, $1) < $2, false) AS is_away
   FROM hosting_nodes AS node LEFT JOIN node_channels AS channel ON channel.node_id = node.id
     CROSS JOIN LATERAL (SELECT coalesce(channel.last_seen_at, node.last_seen_at, node.created_at) AS last_at) AS seen
     FULL JOIN (SELECT subject FROM alarms WHERE kind = 'hosting-node-away' AND resolved_at IS NULL) AS told
       ON subject = node.id
   WHERE subject IS NOT NULL OR (greatest(seen.last_at, $1) < $2
     AND (node.kind <> 'proftpd-nginx' OR channel.public_key IS NOT NULL))`,
  { id: "text?", last_at: "timestamptz?", is_away: "bool?" },
);

/** @param since when we began to look: before it nobody may have asked any node */
export async function tellOfAbsentNodes(context: Context, since: Date): Promise<void> {
  const limit = new Date(context.clock.now().getTime() - awayAfterMs);
  for (const { id, last_at, is_away } of await context.database.query(absences, [since, limit])) {
    const alarm = { kind: "hosting-node-away", subject: id ?? "" } as const;
    if (is_away) await raiseAlarm(context, { ...alarm, note: `has not answered since ${last_at?.toISOString()}` });
    else await resolveAlarm(context, alarm);
  }
}
