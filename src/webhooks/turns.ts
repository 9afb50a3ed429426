/** The webhooks that are due, in turns by account: receivers that take long must not occupy all places of a worker. */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { progressRows, type RowSource } from "#progress/rows.ts";
import { longestWebhookWait } from "#webhooks/deliver.ts";

/** Places of one account, of each kind, in a worker. */
const resellerPlacesMax = 4;
/** An account has few webhooks, so these are of many accounts. */
const dueAtOnceMax = 1_000;

/**
 * The rows of a machine, as `progressRows`; those of an account with few in progress come first. Call it at module level.
 * @param only SQL about a row: the machine has no other rows
 */
export function webhooksInTurn(name: string, only: string) {
  const first = statement(
    `${name}-in-turn`,
    `WITH used AS (SELECT reseller_id, count(*) AS places FROM webhooks WHERE id = ANY ($except::int8[]) GROUP BY reseller_id),
     due AS (
       SELECT id, version, next_step_at, reseller_id FROM webhooks
       WHERE next_step_at <= $now AND id <> ALL ($except::int8[]) AND ${only} ORDER BY next_step_at LIMIT ${dueAtOnceMax}),
     placed AS (
       SELECT id, version, next_step_at,
         coalesce(places, 0) + row_number() OVER (PARTITION BY reseller_id ORDER BY next_step_at, id) AS place
       FROM due LEFT JOIN used USING (reseller_id)),
     later AS (
       SELECT id, version, next_step_at FROM webhooks
       WHERE next_step_at > $now AND id <> ALL ($except::int8[]) AND ${only} ORDER BY next_step_at LIMIT 1)
     SELECT id, version, next_step_at, place FROM placed WHERE place <= ${resellerPlacesMax}
     UNION ALL SELECT id, version, next_step_at, NULL FROM later
     ORDER BY place NULLS LAST, next_step_at LIMIT $rows_max::int4` as string,
    { id: "int8", version: "int8", next_step_at: "timestamptz?", place: "int8?" },
  );
  const rows = progressRows(name, {
    table: "webhooks",
    id: { column: "id", type: "int8" },
    longestWait: longestWebhookWait,
    only,
  });
  return (context: Pick<Context, "database" | "clock">): RowSource<number> => ({
    ...rows(context),
    async first(rowsMax, except) {
      const now = context.clock.now();
      const found = await context.database.query(first, { now, except, rows_max: rowsMax });
      return found.map(({ id, version, next_step_at }) => ({ id, version, next_step_at: next_step_at ?? now }));
    },
  });
}
