/**
 * The one way to write a change's row: its state, the events that led there, the answer to a command, the attempt row of the next
 * command, and what the end of its kind writes elsewhere. All of it is one statement for several rows, so changes that begin or
 * end at the same moment share a round trip and a commit (src/db/batch.ts).
 *
 * A row is written only over the version that was read, and by an owner only during its epoch. The answer to a command needs no
 * epoch: it is true whichever process writes it, and it comes only once.
 */
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import { itemsText } from "#db/batch.ts";
import type { Database, Transaction } from "#db/database.ts";
import { type Statement, statement } from "#db/statement.ts";
import {
  ChangeConflict,
  type ChangeContext,
  type ChangeRow,
  type ChangeTable,
  type Outcome,
} from "#domains/orders/change.ts";
import { type ChangeName, wake } from "#domains/orders/due.ts";
import { columnsOf, stateOf } from "#domains/orders/state-table.ts";
import { assertLeaseStands, isPresentEpoch, mayBegin } from "#domains/registry/owner-lease.ts";
import type { OwnerContext } from "#domains/registry/sessions.ts";

/** A row that was written, and what its writer reports to the machine. */
interface Written<Row> {
  row: Row;
  signal: string;
}

/** The row after an outcome; nothing is written. @throws when its state has no such event */
export function applyEvent<Row extends ChangeRow, O extends Outcome>(
  table: ChangeTable<Row, O>,
  row: Row,
  outcome: O,
  now: Date,
): Row {
  const { event, nextStepAt = now, reason, operatorNote } = outcome;
  if (event === undefined) return { ...row, next_step_at: nextStepAt };
  const from = stateOf(row);
  const to = table.states.next(from, event)?.to;
  if (to === undefined) throw new Error(`the state ${from} has no event ${event}`);
  const failures = row.backoff_count + (outcome.countsAsFailure ? 1 : 0);
  const columns = columnsOf(to);
  const { status, phase } = columns;
  return {
    ...row,
    ...columns,
    confirm_after: outcome.confirmAfter ?? null,
    next_step_at: outcome.isFree ? row.next_step_at : nextStepAt,
    backoff_count: outcome.countsAsFailure || table.keepsBackoff.has(event) ? failures : 0,
    reason: reason ?? row.reason,
    unwritten: [...row.unwritten, { event, status, phase, note: operatorNote ?? reason ?? null }],
    ...table.after(row, outcome, to, now),
  };
}

function itemOf<Row extends ChangeRow, O extends Outcome>(
  { lease, clock }: ChangeContext,
  table: ChangeTable<Row, O>,
  before: Row,
  row: Row,
  outcome: O,
) {
  const to = stateOf<string>(row);
  const { attempt, closesAttempts } = outcome;
  const isOver = table.states.isFinal(to);
  const columns = table.writer.columns.map((name) => [name, row[name as keyof Row]]);
  return {
    ...Object.fromEntries(columns),
    id: row.id,
    version: row.version,
    at: clock.now(),
    epoch: attempt ? null : (lease?.epoch ?? null),
    events: row.unwritten,
    is_over: isOver,
    ...(attempt && { answered: attempt.clTrid, result_code: attempt.resultCode, sv_trid: attempt.svTrid }),
    is_closed: attempt?.isClosed ?? false,
    closes_all: isOver || closesAttempts === true || (before.phase === "verify" && row.phase !== "verify"),
    ...table.values(row, outcome, to),
  };
}

/** Begins and ends are batched: many come at once. Writes in between are not, so that none waits for another. */
function writeOne(
  to: Database | Transaction,
  { statement: text }: Writer,
  item: { is_over: boolean; events: object[] },
) {
  const isBatched = item.is_over || ("command" in item && item.events.length > 0);
  return "batched" in to && isBatched ? to.batched(text, item) : to.query(text, { items: itemsText([item]) });
}

/** Nothing was written. @throws ChangeConflict, LeaseLost */
async function refuse(context: ChangeContext, tx: Pick<Transaction, "query">): Promise<never> {
  await assertLeaseStands(tx, context.lease);
  throw new ChangeConflict();
}

/**
 * Writes an outcome, by itself or in a transaction that writes more.
 * @returns the row as it is now, and the writer's signal
 * @throws ChangeConflict when the row has changed since it was read
 * @throws LeaseLost when this process no longer owns the registry
 */
export async function write<Row extends ChangeRow, O extends Outcome>(
  context: ChangeContext,
  table: ChangeTable<Row, O>,
  row: Row,
  outcome: O,
  tx?: Transaction,
): Promise<Written<Row>> {
  const { database, clock } = context;
  const next = applyEvent(table, row, outcome, clock.now());
  const hold = table.hold?.(row, outcome);
  const alarms = outcome.event === undefined ? [] : table.alarms(row, outcome, stateOf(next), clock.now());
  if (!tx && (hold || alarms.length > 0)) {
    return database.transaction((own) => write(context, table, row, outcome, own));
  }
  if (tx && hold && !(await hold(tx))) throw new ChangeConflict();
  const item = itemOf(context, table, row, next, outcome);
  const [written] = await writeOne(tx ?? database, table.writer, item);
  if (!written) return refuse(context, tx ?? database);
  for (const { kind, subject, note } of alarms) {
    if (note === undefined) await resolveAlarm(context, { kind, subject }, tx);
    else await raiseAlarm(context, { kind, subject, note }, tx);
  }
  return { row: { ...next, version: written.version, unwritten: [] }, signal: written.signal };
}

/**
 * Commits the attempt row of a command, with the row's unwritten events; only then may the command's first byte be written. It is
 * one statement, so a process that stands still in the middle cannot commit it much later. It begins nothing while a command is
 * unanswered.
 * @param row afterwards at the version that was written
 * @returns the clTRID to send: `<code>-<n>`, never used before
 * @throws ChangeConflict when the row has changed since it was read, or a command is unanswered
 * @throws LeaseLost when this process no longer owns the registry
 */
export async function begin<Row extends ChangeRow, O extends Outcome>(
  context: OwnerContext,
  table: ChangeTable<Row, O>,
  row: Row,
  command: string,
): Promise<string> {
  const item = { ...itemOf(context, table, row, row, {} as O), command };
  const [written] = await writeOne(context.database, table.writer, item);
  if (!written?.cl_trid) return refuse(context, context.database);
  row.version = written.version;
  row.unwritten = [];
  return written.cl_trid;
}

export interface Writer {
  statement: Statement<{ item: number; version: number; cl_trid: string | null; signal: string }>;
  /** The columns that it writes from the row. */
  columns: readonly string[];
}

export interface WriterOptions {
  table: string;
  /** E.g. "order": the column `order_id` of `attempts`, `order_code` of the table, and its history. */
  name: ChangeName;
  /** SQL: its own columns with their types. */
  columns: string;
  /** Whether its rows send commands, which have attempts, and whose answers may be lost. Default: true. */
  sendsCommands?: boolean;
  /** SQL: further values of a write with their types, for `guard`, `lock` and `effects`. */
  values: string;
  /** SQL: what is locked before the row, and how it is joined: `[CTE, JOIN]`. */
  lock?: [cte: string, join: string];
  /** SQL: a condition of every write, on `change`, `row` and what is joined. */
  guard?: string;
  /** SQL: a condition for an attempt to begin. */
  beginGuard?: string;
  /** SQL: CTEs that write elsewhere, from `written`: the values of the write with the row's own. */
  effects: string[];
  /** SQL: a text from `written` for the machine; it also notifies other processes. */
  signal?: string;
}

const itemColumns = `item int4, id int8, version int8, epoch int8, at timestamptz, is_over bool, events jsonb, answered text,
  result_code int4, sv_trid text, is_closed bool, closes_all bool, command text`;
const stateColumns = "status text, phase text, next_step_at timestamptz, backoff_count int4, reason text";
const senderColumns = "verify_cause text, confirm_after timestamptz";

// A write without epoch and answer comes from outside the row's steps: it asks for one.
const isCalled = "epoch IS NULL AND answered IS NULL AND NOT is_over AND next_step_at <= at";

/** SQL: whether an attempt of the row may begin. */
const mayBeSent = (subject: string) => `${mayBegin("row.registry_id", "change.epoch")}
         AND NOT EXISTS (SELECT FROM attempts AS open
           WHERE open.${subject} = row.id AND open.answered_at IS NULL AND open.command LIKE 'domain:%')`;

/** SQL: CTEs that write the attempt that begins, and the answer to one. */
const writeAttempts = (subject: string) => `begun AS (
     INSERT INTO attempts (cl_trid, ${subject}, number, command, committed_at, epoch)
     SELECT code || '-' || next.number, id, next.number, command, at, epoch
     FROM written, LATERAL (
       SELECT coalesce(max(number), 0) + 1 AS number FROM attempts WHERE attempts.${subject} = written.id) AS next
     WHERE command IS NOT NULL ON CONFLICT DO NOTHING RETURNING ${subject} AS row_id, cl_trid),
   answer AS (
     UPDATE attempts AS attempt SET
       result_code = CASE WHEN attempt.cl_trid = answered THEN written.result_code ELSE attempt.result_code END,
       sv_trid = CASE WHEN attempt.cl_trid = answered THEN written.sv_trid ELSE attempt.sv_trid END,
       answered_at = CASE WHEN is_closed OR closes_all THEN at END
     FROM written WHERE attempt.${subject} = written.id
       AND (attempt.cl_trid = answered OR closes_all AND attempt.answered_at IS NULL))`;

/** The names of columns that are listed with their types. */
const namesOf = (columns: string) => columns.split(",").map((column) => column.trim().split(" ")[0]!);

/**
 * Declares a table's writer; call it at module level. Its statement takes the items of `itemOf`, and returns those that were
 * written: rows that have changed since they were read are missing.
 */
export function createWriter({
  table,
  name,
  columns: ownColumns,
  values,
  sendsCommands = true,
  lock = ["", ""],
  guard = "true",
  beginGuard = "true",
  effects,
  signal = "NULL",
}: WriterOptions): Writer {
  const subject = `${name}_id`;
  const columns = [stateColumns, ...(sendsCommands ? [senderColumns] : []), ownColumns].join(", ");
  const given = `${itemColumns}, ${columns}, ${values}`;
  const written = namesOf(columns);
  const names = (of: string) => namesOf(given).map((column) => `${of}${column}`);
  const text = `WITH ${lock[0]}change AS MATERIALIZED (
     SELECT ${names("")} FROM jsonb_to_recordset($items::jsonb) AS item(${given})),
   locked AS MATERIALIZED (
     SELECT ${names("change.")}, row.${name}_code AS code, row.domain_name, row.registry_id, row.reseller_id
     FROM change JOIN ${table} AS row ON row.id = change.id AND row.id = ANY (ARRAY(SELECT id FROM change)) ${lock[1]}
     WHERE row.version = change.version AND ${guard}
       AND (change.epoch IS NULL OR ${isPresentEpoch("row.registry_id", "change.epoch")})
       AND (change.command IS NULL${sendsCommands ? ` OR ${beginGuard} AND ${mayBeSent(subject)}` : ""})
     ORDER BY row.id FOR UPDATE OF row),
   written AS (
     UPDATE ${table} AS row SET ${written.map((column) => `${column} = change.${column}`)},
       updated_at = CASE WHEN change.events = '[]' THEN row.updated_at ELSE change.at END,
       ended_at = CASE WHEN change.is_over THEN change.at END
     FROM locked AS change WHERE row.id = change.id AND row.id = ANY (ARRAY(SELECT id FROM locked))
     RETURNING ${names("change.")}, change.code, change.domain_name, change.registry_id, change.reseller_id,
       row.version AS version_now),
   ${sendsCommands ? writeAttempts(subject) : "begun AS (SELECT NULL::int8 AS row_id, NULL::text AS cl_trid WHERE false)"},
   history AS (
     INSERT INTO ${name}_history (${subject}, at, event, status, phase, note)
     SELECT id, at, event->>'event', event->>'status', event->>'phase', event->>'note'
     FROM written, jsonb_array_elements(events) WITH ORDINALITY AS ordered(event, place) ORDER BY item, place)
   ${effects.map((effect) => `, ${effect}`).join("")}
   SELECT written.item, version_now AS version, begun.cl_trid, concat(${signal}, CASE WHEN ${isCalled} THEN ${wake(name, "registry_id")}::text END) AS signal
   FROM written LEFT JOIN begun ON row_id = written.id`;
  const returned = { item: "int4", version: "int8", cl_trid: "text?", signal: "text" } as const;
  return { statement: statement(`${name}s-write`, text, returned), columns: written };
}
