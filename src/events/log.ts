/**
 * The log of events, in the order of their transactions. A reader sees only what lies below the horizon, the oldest transaction of
 * this database that is still running: one that commits later has a place after everything that was read, so no event is ever
 * passed over. A transaction that stays open holds all later events back.
 */
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { LockTimeout } from "#db/errors.ts";
import { inParts, partRowsMax } from "#db/parts.ts";
import { statement } from "#db/statement.ts";
import type { EventRow } from "#events/catalogue.ts";
import { dayMs, sleep } from "#lib/clock.ts";

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
 * SQL: `log`, the row of `event_log` with the horizon. Transactions that the statement's snapshot shows as running, but that
 * are known to belong to another database, can't write events here. A transaction that has ended since the snapshot is no
 * longer known and therefore counts, so the horizon can go back; it is determined once per statement. For a primary server
 * only: the snapshots of a standby list no running transactions.
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

// A visible event is on the disk. The horizon need not be: a server that ends without a shutdown forgets the numbers of transactions
// that have left nothing there, and its successor gives them to others.
const lastVisible = `(
     SELECT coalesce(own.era, older.era, log.era) AS era, coalesce(own.transaction, older.transaction, log.horizon) AS transaction,
       coalesce(own.number, older.number, 0) AS number
     FROM (VALUES (0)) AS one
     LEFT JOIN LATERAL (SELECT era, transaction, number FROM events WHERE era = log.era AND transaction < log.horizon
       ORDER BY era DESC, transaction DESC, number DESC LIMIT 1) AS own ON true
     LEFT JOIN LATERAL (SELECT era, transaction, number FROM events WHERE era < log.era
       ORDER BY era DESC, transaction DESC, number DESC LIMIT 1) AS older ON own.era IS NULL)`;

const readPage = statement(
  "events-page",
  `WITH ${withLog}
   SELECT page.id, page.type, page.at, page.data,
     last.era AS end_era, last.transaction::text AS end_transaction, last.number::text AS end_number,
     ($era, $transaction::xid8, $number::int8) >= (last.era, last.transaction, last.number) AS is_past_end,
     EXISTS (SELECT FROM events AS held WHERE held.reseller_id = $reseller_id AND ${isHeldBack("held")}) AS is_held_back,
     (log.deleted_era, log.deleted_transaction, log.deleted_number) > ($era, $transaction::xid8, $number::int8) AS is_expired,
     CASE WHEN $era = log.era THEN $transaction::xid8 > pg_snapshot_xmax(pg_current_snapshot())
       ELSE NOT EXISTS (SELECT FROM event_eras AS ended WHERE ended.era = $era
         AND (ended.last_transaction, ended.last_number) >= ($transaction::xid8, $number::int8)) END AS is_ahead
   FROM log CROSS JOIN LATERAL ${lastVisible} AS last LEFT JOIN LATERAL (
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
    end_era: "int4",
    end_transaction: "text",
    end_number: "text",
    is_past_end: "bool",
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

/** When to read again after this page: the end of an older transaction sends no notification. */
export const lookAgainMs = ({ isHeldBack }: EventPage): number | undefined => (isHeldBack ? heldBackLookMs : undefined);

/** Reads what a reseller's events of these types are after a position. */
export async function readEvents(
  { database }: Pick<Context, "database">,
  { resellerId, types, after, limit }: { resellerId: number; types: readonly string[]; after: Position; limit: number },
): Promise<EventPage> {
  const values = { reseller_id: resellerId, types: types.slice(), limit, ...after };
  const rows = await database.query(readPage, values);
  const { end_era, end_transaction, end_number, is_past_end, is_held_back, is_expired, is_ahead } = rows[0]!;
  const events = rows.flatMap(({ id, type, at, data }) => (id === null ? [] : [{ id, type: type!, at: at!, data }]));
  const hasMore = events.length === limit;
  const end = is_past_end ? after : { era: end_era, transaction: end_transaction, number: end_number };
  const isFromStart = after.era === 0;
  return {
    events,
    next: hasMore ? parsePosition(events.at(-1)!.id)! : end,
    hasMore,
    isHeldBack: is_held_back,
    gap: isFromStart ? undefined : is_ahead ? "ahead" : is_expired ? "expired" : undefined,
  };
}

/** The place after everything that readers see now. */
export async function endOfEvents(context: Pick<Context, "database">): Promise<Position> {
  return (await readEvents(context, { resellerId: 0, types: [], after: eventsBegin, limit: 1 })).next;
}

/** How much later an event can be written than others that follow it in the log: a transaction writes its events before it ends. */
const disorderMs = 60_000;

const placeBefore = statement(
  "events-place-before",
  `WITH ${withLog}
   SELECT event.era, event.transaction::text AS transaction, event.number::text AS number
   FROM log CROSS JOIN LATERAL (
     SELECT era, transaction, number FROM events AS one WHERE at < $at::timestamptz AND ${isVisible("one")}
     ORDER BY at DESC LIMIT 1) AS event` as string,
  { era: "int4", transaction: "text", number: "text" },
);

/** A place in the log before everything that has happened since then, and at most a minute before it. */
export async function placeOfTime({ database }: Pick<Context, "database">, time: Date): Promise<Position> {
  const [place] = await database.query(placeBefore, { at: new Date(time.getTime() - disorderMs) });
  return place ?? eventsBegin;
}

/**
 * SQL: the database that an era belongs to. A promotion keeps all three: it continues the same transactions. A restore from a dump
 * makes another database, or at least another table.
 */
export const originNow = `(SELECT concat_ws('/', system_identifier, database.oid, 'event_log'::regclass::oid) AS origin
     FROM pg_control_system(), pg_database AS database WHERE datname = current_database())`;

const isElsewhere = statement(
  "events-is-elsewhere",
  `SELECT event_log.origin <> now.origin AS is_elsewhere FROM event_log, ${originNow} AS now` as string,
  { is_elsewhere: "bool?" },
);

const setLockTimeout = statement("events-lock-timeout", "SELECT set_config('lock_timeout', $ms, true) AS ms", {
  ms: "text?",
});

// A writer of an event holds a weaker lock until it commits, and reads the era under that lock.
const lockWriters = statement("events-lock-writers", "LOCK TABLE events IN SHARE ROW EXCLUSIVE MODE", {});

const eraStepMax = 1_000_000;

// Two restores of the same backup begin different eras, and each refuses places of the other's era.
const beginEra = statement(
  "events-begin-era",
  `WITH ended AS (
     INSERT INTO event_eras (era, last_transaction, last_number)
     SELECT event_log.era, coalesce(last.transaction, '0'), coalesce(last.number, 0)
     FROM event_log CROSS JOIN ${originNow} AS now LEFT JOIN LATERAL (
       SELECT transaction, number FROM events WHERE events.era = event_log.era
       ORDER BY era DESC, transaction DESC, number DESC LIMIT 1) AS last ON true
     WHERE $is_certain::bool OR event_log.origin <> now.origin)
   UPDATE event_log SET origin = now.origin, era = era + 1 + floor(random() * ${eraStepMax})::int4
   FROM ${originNow} AS now WHERE $is_certain::bool OR event_log.origin <> now.origin` as string,
  {},
);

// The lost events had places that the new primary gives to others. So no place counts as known that a reader may have from one of them:
// a reader that has read further begins again, and any other one misses nothing.
const shortenEra = statement(
  "events-shorten-era",
  `WITH ended AS MATERIALIZED (SELECT max(era) AS era FROM event_eras),
   place AS MATERIALIZED (
     SELECT ended.era, coalesce(last.transaction, '0') AS transaction, coalesce(last.number, 0) AS number
     FROM ended LEFT JOIN LATERAL (
       SELECT transaction, number FROM events WHERE events.era = ended.era AND at < $before
       ORDER BY era DESC, transaction DESC, number DESC LIMIT 1) AS last ON true)
   UPDATE event_eras SET last_transaction = place.transaction, last_number = place.number
   FROM place WHERE event_eras.era = place.era
     AND (place.transaction, place.number) < (event_eras.last_transaction, event_eras.last_number)`,
  {},
);

/** Writers pass between two tries: one that stays open for long must not hold up the others. */
const writersWaitMs = 500;

/**
 * Runs a transaction during which no event is written: it waits for the writers in progress, and those that come later read the era
 * after it.
 */
export async function withWritersLocked(
  { database, log }: Pick<Context, "database" | "log">,
  work: (tx: Transaction) => Promise<void>,
): Promise<void> {
  for (;;) {
    try {
      return await database.transaction(async (tx) => {
        await tx.query(setLockTimeout, { ms: String(writersWaitMs) });
        await tx.query(lockWriters, {});
        await work(tx);
      });
    } catch (error) {
      if (!(error instanceof LockTimeout)) throw error;
      log.warn({}, "a new era of events waits for a transaction that has written an event and is still open");
      await sleep(writersWaitMs);
    }
  }
}

/**
 * Begins a new era if the database was restored: transactions may be numbered from another start. It waits for the writers in
 * progress, so no event of the older era commits after it. Every process calls it before it writes or reads anything.
 */
export async function noteRestore(context: Pick<Context, "database" | "log">): Promise<void> {
  while ((await context.database.query(isElsewhere, {}))[0]?.is_elsewhere) {
    await withWritersLocked(context, async (tx) => void (await tx.query(beginEra, { is_certain: false })));
  }
}

/**
 * For a database that lacks commits that were acknowledged. Readers' places from shortly before the first of them, or later, are refused.
 * @param tx of `withWritersLocked`
 * @param isFirst no process has begun an era because of this loss
 */
export async function beginEraAfterLoss(
  tx: Transaction,
  { since, isFirst }: { since: Date; isFirst: boolean },
): Promise<void> {
  if (isFirst) await tx.query(beginEra, { is_certain: true });
  await tx.query(shortenEra, { before: new Date(since.getTime() - disorderMs) });
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
  const before = new Date(clock.now().getTime() - keptDays * dayMs);
  await inParts(async () => (await database.query(dropOld, { before }))[0]!.rows);
}
