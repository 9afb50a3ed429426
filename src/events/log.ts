/**
 * The log of events, in the order of their transactions. A reader sees only what lies below the horizon, the oldest transaction of
 * this database that is still running: one that commits later has a place after everything that was read, so no event is ever
 * passed over. A transaction that stays open holds all later events back.
 */
import type { Context } from "#context.ts";
import { inParts, partRowsMax } from "#db/parts.ts";
import { statement } from "#db/statement.ts";
import type { EventRow } from "#events/catalogue.ts";

/** A place in the log: that of an event, or between two. */
export interface Position {
  era: number;
  transaction: string;
  number: string;
}

export const eventsBegin: Position = { era: 0, transaction: "0", number: "0" };

const positionPattern = /^evt_([0-9]{1,9})_([0-9]{1,19})_([0-9]{1,18})$/;

/** A position as a text; that of an event is its id. */
export const positionText = ({ era, transaction, number }: Position): string => `evt_${era}_${transaction}_${number}`;

/** @returns undefined for any other text */
export function parsePosition(text: string): Position | undefined {
  const [, era, transaction, number] = positionPattern.exec(text) ?? [];
  return era === undefined ? undefined : { era: Number(era), transaction: transaction!, number: number! };
}

/** SQL: the id of a row of `events`. */
export const eventId = (row: string) => `concat_ws('_', 'evt', ${row}.era, ${row}.transaction, ${row}.number)`;

/**
 * SQL: `log`, the row of `event_log` with the horizon. Of the transactions that the statement's snapshot shows as running, those that
 * are known to be another database's can't write events here. One that has ended since the snapshot is not known any more, and
 * counts, so the horizon can go back; it is looked up once for a statement. For a primary server only: the snapshots of a standby list
 * no running transactions.
 */
export const withLog = `log AS MATERIALIZED (
     SELECT era, deleted_era, deleted_transaction, deleted_number, coalesce(
       (SELECT running.id FROM pg_snapshot_xip(pg_current_snapshot()) AS running (id)
        WHERE NOT EXISTS (SELECT FROM pg_stat_activity AS activity
          WHERE activity.backend_xid = running.id::xid AND activity.datname <> current_database())
        ORDER BY running.id LIMIT 1),
       pg_snapshot_xmax(pg_current_snapshot())) AS horizon
     FROM event_log)`;

/** SQL: whether readers see a row of `events`, given `withLog`. */
export const isVisible = (row: string) => `(${row}.era < log.era OR ${row}.transaction < log.horizon)`;

/** SQL: whether a row of `events` waits for an older transaction, given `withLog`. */
export const isHeldBack = (row: string) => `(${row}.era = log.era AND ${row}.transaction >= log.horizon)`;

const readPage = statement(
  "events-page",
  `WITH ${withLog}
   SELECT page.id, page.type, page.at, page.data, log.era AS log_era, log.horizon::text AS log_horizon,
     ($era, $transaction::xid8) >= (log.era, log.horizon) AS is_past_horizon,
     EXISTS (SELECT FROM events AS held WHERE held.reseller_id = $reseller_id AND ${isHeldBack("held")}) AS is_held_back,
     (log.deleted_era, log.deleted_transaction, log.deleted_number) > ($era, $transaction::xid8, $number::int8) AS is_expired,
     ($era, $transaction::xid8) > (log.era, pg_snapshot_xmax(pg_current_snapshot())) AS is_ahead
   FROM log LEFT JOIN LATERAL (
     SELECT ${eventId("event")} AS id, event.type, event.at, event.data,
       row_number() OVER (ORDER BY event.era, event.transaction, event.number) AS place
     FROM events AS event
     WHERE event.reseller_id = $reseller_id AND event.type = ANY ($types::text[])
       AND (event.era, event.transaction, event.number) > ($era, $transaction::xid8, $number::int8) AND ${isVisible("event")}
     ORDER BY event.era, event.transaction, event.number LIMIT $limit) AS page ON true
   ORDER BY page.place`,
  {
    id: "text?",
    type: "text?",
    at: "timestamptz?",
    data: "jsonb?",
    log_era: "int4",
    log_horizon: "text",
    is_past_horizon: "bool",
    is_held_back: "bool",
    is_expired: "bool?",
    is_ahead: "bool?",
  },
);

export interface EventPage {
  events: EventRow[];
  /** Where to read on: nothing of these types lies before it. */
  next: Position;
  /** More can be read at once. */
  hasMore: boolean;
  /** An event waits for an older transaction. */
  isHeldBack: boolean;
  /** Events after the given position were deleted: `expired`, or the database was restored: `ahead`. */
  gap: "expired" | "ahead" | undefined;
}

const heldBackLookMs = 100;

/** When to read again after this page: nobody tells when an older transaction ends. */
export const lookAgainMs = ({ isHeldBack }: EventPage): number | undefined => (isHeldBack ? heldBackLookMs : undefined);

/** Reads what a reseller's events of these types are after a position. */
export async function readEvents(
  { database }: Pick<Context, "database">,
  { resellerId, types, after, limit }: { resellerId: number; types: readonly string[]; after: Position; limit: number },
): Promise<EventPage> {
  const values = { reseller_id: resellerId, types: types.slice(), limit, ...after };
  const rows = await database.query(readPage, values);
  const { log_era, log_horizon, is_past_horizon, is_held_back, is_expired, is_ahead } = rows[0]!;
  const events = rows.flatMap(({ id, type, at, data }) => (id === null ? [] : [{ id, type: type!, at: at!, data }]));
  const hasMore = events.length === limit;
  const end = is_past_horizon ? after : { era: log_era, transaction: log_horizon, number: "0" };
  const isFromStart = after.era === 0;
  return {
    events,
    next: hasMore ? parsePosition(events.at(-1)!.id)! : end,
    hasMore,
    isHeldBack: is_held_back,
    gap: isFromStart ? undefined : is_ahead ? "ahead" : is_expired ? "expired" : undefined,
  };
}

const readEnd = statement(
  "events-end",
  `WITH ${withLog} SELECT era, horizon::text AS transaction, '0' AS number FROM log`,
  { era: "int4", transaction: "text", number: "text" },
);

/** The place after everything that readers see now. */
export async function endOfEvents({ database }: Pick<Context, "database">): Promise<Position> {
  const [end] = await database.query(readEnd, {});
  return end!;
}

// A restore from a backup leads to another cluster, or to another timeline of it.
const beginEra = statement(
  "events-begin-era",
  `UPDATE event_log SET era = era + 1, origin = now.origin
   FROM (SELECT system_identifier || '/' || timeline_id AS origin FROM pg_control_system(), pg_control_checkpoint()) AS now
   WHERE event_log.origin <> now.origin`,
  {},
);

/** Every process calls it before it writes or reads anything: after a restore, transactions may be numbered from another start. */
export async function noteRestore({ database }: Pick<Context, "database">): Promise<void> {
  await database.query(beginEra, {});
}

const keptDays = 90;

const dropOld = statement(
  "events-drop",
  `WITH old AS MATERIALIZED (
     SELECT era, transaction, number FROM events WHERE at < $before ORDER BY at LIMIT ${partRowsMax}),
   gone AS (
     DELETE FROM events USING old
     WHERE (events.era, events.transaction, events.number) = (old.era, old.transaction, old.number)),
   last AS (SELECT era, transaction, number FROM old ORDER BY era DESC, transaction DESC, number DESC LIMIT 1),
   noted AS (
     UPDATE event_log SET deleted_era = last.era, deleted_transaction = last.transaction, deleted_number = last.number
     FROM last WHERE (deleted_era, deleted_transaction, deleted_number) < (last.era, last.transaction, last.number))
   SELECT count(*)::int4 AS rows FROM old`,
  { rows: "int4" },
);

/** Deletes events after 90 days. */
export async function dropOldEvents({ database, clock }: Pick<Context, "database" | "clock">): Promise<void> {
  const before = new Date(clock.now().getTime() - keptDays * 24 * 60 * 60_000);
  await inParts(async () => (await database.query(dropOld, { before }))[0]!.rows);
}
