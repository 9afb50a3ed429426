/** Facts about the whole database, read by one statement from indexes, within a time limit. */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { isHeldBack, withLog } from "#events/log.ts";
import type { FactName } from "#lib/measure/metrics-table.ts";

/** A scrape must not wait for a database that is busy, nor keep it busy. */
const readMsMax = 2_000;
const rowsCountedMax = 10_000;
const ordersCountedMax = 20_000;
const eventsLookedAtMax = 1_000;

export interface Fact {
  name: FactName;
  labels: Record<string, string>;
  value: number;
}

const limitTime = statement("metrics-time-limit", "SELECT set_config('statement_timeout', $ms::text, true) AS set", {
  set: "text?",
});

const fact = (name: FactName, value: string, labels: string, from: string) =>
  `SELECT '${name}' AS name, ${labels} AS labels, (${value})::float8::text AS value ${from}`;
const none = "'{}'::jsonb";
const label = (...pairs: [name: string, sql: string][]) =>
  `jsonb_build_object(${pairs.map(([name, sql]) => `'${name}', ${sql}`).join(", ")})`;
const seconds = (since: string) => `extract(epoch FROM $now::timestamptz - ${since})`;

/** The machines' rows that are due: each table has an index that begins with them. */
const due: Record<string, string> = {
  orders: "orders WHERE ended_at IS NULL AND next_step_at <= $now",
  renewals: "renewals WHERE ended_at IS NULL AND next_step_at <= $now",
  "hosting-accounts": "hosting_accounts WHERE next_step_at <= $now",
  "hosting-moves": "hosting_moves WHERE next_step_at <= $now",
  "host-names": "host_names WHERE next_step_at <= $now",
  webhooks: "webhooks WHERE next_step_at <= $now",
  chores: "chores WHERE next_step_at <= $now",
  "alarm-channels": "alarm_channels WHERE next_step_at <= $now",
};
const dueRows = Object.entries(due)
  .map(
    ([machine, rows]) => `SELECT '${machine}' AS machine, count(*) AS rows, min(next_step_at) AS oldest
     FROM (SELECT next_step_at FROM ${rows} LIMIT ${rowsCountedMax}) AS due`,
  )
  .join("\n   UNION ALL ");

const registry = label(["registry", "id"]);
const node = label(["node", "id"]);
const factsSql = statement(
  "metrics-facts",
  `WITH ${withLog},
   due AS MATERIALIZED (${dueRows}),
   open AS MATERIALIZED (
     SELECT registry_id, kind, status, count(*) AS orders, count(operator_note) AS attention
     FROM (SELECT registry_id, kind, status, operator_note FROM orders WHERE ended_at IS NULL LIMIT ${ordersCountedMax}) AS first
     GROUP BY registry_id, kind, status),
   waiting AS MATERIALIZED (
     SELECT node_id, count(*) AS accounts, min(wanted_at) AS oldest
     FROM (SELECT node_id, wanted_at FROM hosting_accounts WHERE applied_version < wanted_version LIMIT ${rowsCountedMax}) AS first
     GROUP BY node_id)
   ${[
     fact(
       "workers",
       "count(*)",
       none,
       "FROM workers WHERE stopped_at IS NULL AND seen_at > now() - interval '1 minute'",
     ),
     fact(
       "orders_open",
       "orders",
       label(["registry", "registry_id"], ["kind", "kind"], ["status", "status"]),
       "FROM open",
     ),
     fact(
       "orders_attention",
       "sum(attention)",
       label(["registry", "registry_id"], ["kind", "kind"]),
       "FROM open GROUP BY registry_id, kind",
     ),
     fact("rows_due", "rows", label(["machine", "machine"]), "FROM due"),
     fact("row_due_oldest_seconds", `coalesce(${seconds("oldest")}, 0)`, label(["machine", "machine"]), "FROM due"),
     fact(
       "registry_owned",
       "coalesce(expires_at > now(), false)::int",
       registry,
       "FROM registries LEFT JOIN registry_leases ON registry_id = id",
     ),
     fact("registry_lease_epoch", "epoch", label(["registry", "registry_id"]), "FROM registry_leases"),
     fact(
       "registry_paused",
       "(creates_paused_reason IS NOT NULL OR coalesce($now BETWEEN maintenance_from AND maintenance_until, false))::int",
       registry,
       "FROM registries",
     ),
     fact("epp_circuit_open", "coalesce(circuit_open_until > $now, false)::int", registry, "FROM registries"),
     fact(
       "renewals_due",
       `(SELECT count(*) FROM (SELECT FROM renewals WHERE registry_id = registries.id AND ended_at IS NULL AND next_step_at <= $now LIMIT ${rowsCountedMax}) AS due)`,
       registry,
       "FROM registries",
     ),
     fact(
       "renewals_at_risk",
       "count(renewals.id)",
       label(["registry", "registries.id"], ["days", "days::text"]),
       `FROM registries CROSS JOIN unnest(ARRAY[1, 7, 30]) AS days LEFT JOIN renewals ON registry_id = registries.id
        AND ended_at IS NULL AND NOT (status = 'Scheduled' OR phase IS NOT DISTINCT FROM 'wait')
        AND term_ends_at <= $now::timestamptz + make_interval(days => days) GROUP BY registries.id, days`,
     ),
     fact(
       "hosting_accounts",
       "CASE status WHEN 'waiting' THEN coalesce(accounts, 0) ELSE greatest(0, accounts_count - coalesce(accounts, 0)) END",
       label(["node", "id"], ["status", "status"]),
       "FROM hosting_nodes LEFT JOIN waiting ON node_id = id CROSS JOIN unnest(ARRAY['waiting', 'applied']) AS status",
     ),
     fact("hosting_pending_oldest_seconds", `coalesce(${seconds("min(oldest)")}, 0)`, none, "FROM waiting"),
     fact("node_seen_seconds", seconds("coalesce(last_seen_at, created_at)"), node, "FROM hosting_nodes"),
     fact("node_free_bytes", "greatest(0, capacity_bytes - committed_bytes)", node, "FROM hosting_nodes"),
     fact(
       "webhook_pending_oldest_seconds",
       `greatest(0, coalesce(${seconds("min(coalesce(failing_since, next_step_at))")}, 0))`,
       none,
       `FROM (SELECT failing_since, next_step_at FROM webhooks WHERE next_step_at IS NOT NULL ORDER BY next_step_at LIMIT ${rowsCountedMax}) AS busy`,
     ),
     fact(
       "events_held_back_seconds",
       `greatest(0, coalesce(${seconds("min(at)")}, 0))`,
       none,
       `FROM (SELECT at, era, transaction FROM events ORDER BY at DESC LIMIT ${eventsLookedAtMax}) AS recent CROSS JOIN log WHERE ${isHeldBack("recent")}`,
     ),
     fact("alarms_open", "count(*)", label(["kind", "kind"]), "FROM alarms WHERE resolved_at IS NULL GROUP BY kind"),
     fact(
       "housekeeping_overdue_seconds",
       `greatest(failures * 60, coalesce(${seconds("next_step_at")}, 0), 0)`,
       label(["part", "name"]),
       "FROM chores",
     ),
     fact(
       "backup_last_success_seconds",
       seconds(
         "coalesce((SELECT max(finished_at) FROM backups), (SELECT applied_at FROM migrations WHERE number = 1))",
       ),
       none,
       "",
     ),
   ].join("\n   UNION ALL ")}` as string,
  { name: "text?", labels: "jsonb?", value: "text?" },
);

/** @throws the driver's error, also when it takes too long */
export async function readFacts({ database, clock }: Pick<Context, "database" | "clock">): Promise<Fact[]> {
  const rows = await database.transaction(async (tx) => {
    await tx.query(limitTime, { ms: String(readMsMax) });
    return tx.query(factsSql, { now: clock.now() });
  });
  return rows.map(({ name, labels, value }) => ({
    name: name as FactName,
    labels: labels as Fact["labels"],
    value: Number(value),
  }));
}
