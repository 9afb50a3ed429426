/**
 * The one way in which a change's row is written: its state with the events that led there, the answer that a command got, the
 * attempt row of the command that is sent next, and what the end of its kind writes elsewhere. All of it is one statement for
 * several rows, so changes that begin or end in the same moment share a round trip and a commit (src/db/batch.ts).
 *
 * A row is written only over the version that was read, and by an owner only while its epoch lasts. What a command was answered
 * is true whoever writes it down, and comes only once: that needs no epoch.
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
  columnsOf,
  type Outcome,
  stateOf,
} from "#domains/changes/change.ts";
import { wake } from "#domains/changes/due.ts";
import { assertLeaseStands, isPresentEpoch, mayBegin } from "#domains/registry/owner-lease.ts";
import type { OwnerContext } from "#domains/registry/sessions.ts";

/** A row that was written, and what its writer says to who wrote it. */
interface Written<Row> {
  row: Row;
  told: string;
}

/** The row as it is once that has happened to it; nothing is written. @throws when its state has no such event */
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
  if (to === undefined) throw new Error(`nothing leads on from ${from} when it is ${event}`);
  const failures = row.backoff_count + (outcome.countsAsFailure ? 1 : 0);
  const { status, phase, verify_cause } = columnsOf(to);
  return {
    ...row,
    ...{ status, phase, verify_cause, confirm_after: outcome.confirmAfter ?? null },
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
  const { id, version, status, phase, verify_cause, next_step_at, backoff_count, confirm_after, reason } = row;
  const { attempt, closesAttempts } = outcome;
  const isOver = table.states.isFinal(to);
  return {
    ...{ id, version, at: clock.now(), epoch: attempt ? null : (lease?.epoch ?? null), events: row.unwritten },
    ...{ status, phase, verify_cause, next_step_at, backoff_count, confirm_after, reason, is_over: isOver },
    ...(attempt && { answered: attempt.clTrid, result_code: attempt.resultCode, sv_trid: attempt.svTrid }),
    is_closed: attempt?.isClosed ?? false,
    closes_all: isOver || closesAttempts === true || (before.phase === "verify" && phase !== "verify"),
    ...table.values(row, outcome, to),
  };
}

/** Many begin and end in the same moment, and share a statement. What is held up in between holds up nobody else. */
function writeOne(database: Database, { writer }: { writer: Writer }, item: { is_over: boolean; events: object[] }) {
  const isBegun = "command" in item && item.events.length > 0;
  return isBegun || item.is_over ? database.together(writer, item) : database.query(writer, [itemsText([item])]);
}

/** Nothing was written. @throws ChangeConflict, LeaseLost */
async function refuse(context: ChangeContext, tx: Pick<Transaction, "query">): Promise<never> {
  await assertLeaseStands(tx, context.lease);
  throw new ChangeConflict();
}

/**
 * Lets something happen to a change.
 * @returns the row as it is now, and what the writer says
 * @throws ChangeConflict when it is not any more as it was read
 * @throws LeaseLost when this process does not own the registry any more
 */
export async function write<Row extends ChangeRow, O extends Outcome>(
  context: ChangeContext,
  table: ChangeTable<Row, O>,
  row: Row,
  outcome: O,
): Promise<Written<Row>> {
  const { database, clock } = context;
  const next = applyEvent(table, row, outcome, clock.now());
  const isAlone = !table.hold?.(row, outcome) && alarmsOf(table, row, outcome, next, clock.now()).length === 0;
  if (!isAlone) return database.transaction((tx) => writeIn(context, tx, table, row, outcome));
  const [written] = await writeOne(database, table, itemOf(context, table, row, next, outcome));
  if (!written) return refuse(context, database);
  return { row: { ...next, version: written.version, unwritten: [] }, told: written.told };
}

/** The same in a transaction that has more to do. */
export async function writeIn<Row extends ChangeRow, O extends Outcome>(
  context: ChangeContext,
  tx: Transaction,
  table: ChangeTable<Row, O>,
  row: Row,
  outcome: O,
): Promise<Written<Row>> {
  const now = context.clock.now();
  const next = applyEvent(table, row, outcome, now);
  const hold = table.hold?.(row, outcome);
  if (hold && !(await hold(tx))) throw new ChangeConflict();
  const [written] = await tx.query(table.writer, [itemsText([itemOf(context, table, row, next, outcome)])]);
  if (!written) return refuse(context, tx);
  for (const { kind, subject, note } of alarmsOf(table, row, outcome, next, now)) {
    if (note === undefined) await resolveAlarm(context, { kind, subject }, tx);
    else await raiseAlarm(context, { kind, subject, note }, tx);
  }
  return { row: { ...next, version: written.version, unwritten: [] }, told: written.told };
}

const alarmsOf = <Row extends ChangeRow, O extends Outcome>(
  table: ChangeTable<Row, O>,
  row: Row,
  outcome: O,
  next: Row,
  now: Date,
) => (outcome.event === undefined ? [] : table.alarms(row, outcome, stateOf(next), now));

/**
 * Commits the attempt row of a command, which must stand before the command's first byte is written, with what has happened
 * to the change until now. It is one statement, so a process that is stopped in the middle of it cannot commit it when it goes
 * on, much later. It begins nothing while a command is unanswered.
 * @param row from now on at the version that was written
 * @returns the clTRID to send: `<code>-<n>`, never used before
 * @throws ChangeConflict when it is not any more as it was read, or a command has no answer
 * @throws LeaseLost when this process does not own the registry any more
 */
export async function begin<Row extends ChangeRow, O extends Outcome>(
  context: OwnerContext,
  table: ChangeTable<Row, O>,
  row: Row,
  command: string,
): Promise<string> {
  const nothing = {} as O;
  const item = { ...itemOf(context, table, row, row, nothing), command };
  const [written] = await writeOne(context.database, table, item);
  if (!written?.cl_trid) return refuse(context, context.database);
  row.version = written.version;
  row.unwritten = [];
  return written.cl_trid;
}

export type Writer = Statement<{ item: number; version: number; cl_trid: string | null; told: string }>;

export interface WriterOptions {
  /** Its rows' table. */
  table: string;
  /** "order": the column `order_id` of `attempts`, `order_code` of the table, and its history. */
  name: "order" | "renewal";
  /** Its own columns with their types; a write gives all of them. */
  columns: Record<string, string>;
  /** Further values of a write, for `guard`, `lock` and `effects`. */
  values: Record<string, string>;
  /** SQL: what is locked before the row, and joined as it says: `[CTE, JOIN]`. */
  lock?: [cte: string, join: string];
  /** SQL: what must hold for every write; of `change`, `row` and what is joined. */
  guard?: string;
  /** SQL: what must hold for an attempt to begin. */
  beginGuard?: string;
  /** SQL: CTEs that write elsewhere, from `written`: the values of the write with the row's own. */
  effects: string[];
  /** SQL of `written`, a text: tells who waits for it, and who wrote it. */
  tell?: string;
}

const itemColumns = {
  ...{ item: "int4", id: "int8", version: "int8", epoch: "int8", at: "timestamptz", is_over: "bool", events: "jsonb" },
  ...{ answered: "text", result_code: "int4", sv_trid: "text", is_closed: "bool", closes_all: "bool", command: "text" },
};
const stateColumns = {
  ...{ status: "text", phase: "text", verify_cause: "text", next_step_at: "timestamptz", backoff_count: "int4" },
  ...{ confirm_after: "timestamptz", reason: "text" },
};

// Who has no epoch and no answer is no step of the row: somebody calls for one.
const isCalled = "epoch IS NULL AND answered IS NULL AND NOT is_over AND next_step_at <= at";

const list = (columns: Record<string, string>, print: (name: string, type: string) => string) =>
  Object.entries(columns)
    .map(([name, type]) => print(name, type))
    .join(", ");

/**
 * Declares a table's writer; call it at module level. It takes the items of `itemOf` in write.ts, and returns those that were
 * written: what changed meanwhile is not among them.
 */
export function createWriter(options: WriterOptions): Writer {
  const {
    table,
    name,
    columns,
    values,
    lock = ["", ""],
    guard = "true",
    beginGuard = "true",
    effects,
    tell = "NULL",
  } = options;
  const subject = `${name}_id`;
  const given = { ...itemColumns, ...stateColumns, ...columns, ...values };
  const written = { ...stateColumns, ...columns };
  const names = (of: string) => list(given, (column) => `${of}${column}`);
  const text = `WITH ${lock[0]}change AS MATERIALIZED (
     SELECT ${names("")} FROM jsonb_to_recordset($1::jsonb) AS item(${list(given, (column, type) => `${column} ${type}`)})),
   locked AS MATERIALIZED (
     SELECT ${names("change.")}, row.${name}_code AS code, row.domain_name, row.registry_id, row.reseller_id
     FROM change JOIN ${table} AS row ON row.id = change.id AND row.id = ANY (ARRAY(SELECT id FROM change)) ${lock[1]}
     WHERE row.version = change.version AND ${guard}
       AND (change.epoch IS NULL OR ${isPresentEpoch("row.registry_id", "change.epoch")})
       AND (change.command IS NULL OR ${beginGuard} AND ${mayBegin("row.registry_id", "change.epoch")}
         AND NOT EXISTS (SELECT FROM attempts AS open
           WHERE open.${subject} = row.id AND open.answered_at IS NULL AND open.command LIKE 'domain:%'))
     ORDER BY row.id FOR UPDATE OF row),
   written AS (
     UPDATE ${table} AS row SET ${list(written, (column) => `${column} = change.${column}`)},
       updated_at = CASE WHEN change.events = '[]' THEN row.updated_at ELSE change.at END,
       ended_at = CASE WHEN change.is_over THEN change.at END
     FROM locked AS change WHERE row.id = change.id AND row.id = ANY (ARRAY(SELECT id FROM locked))
     RETURNING ${names("change.")}, change.code, change.domain_name, change.registry_id, change.reseller_id,
       row.version AS version_now),
   begun AS (
     INSERT INTO attempts (cl_trid, ${subject}, number, command, committed_at, epoch)
     SELECT code || '-' || next.number, id, next.number, command, at, epoch
     FROM written, LATERAL (
       SELECT coalesce(max(number), 0) + 1 AS number FROM attempts WHERE attempts.${subject} = written.id) AS next
     WHERE command IS NOT NULL ON CONFLICT DO NOTHING RETURNING ${subject}, cl_trid),
   answer AS (
     UPDATE attempts AS attempt SET
       result_code = CASE WHEN attempt.cl_trid = answered THEN written.result_code ELSE attempt.result_code END,
       sv_trid = CASE WHEN attempt.cl_trid = answered THEN written.sv_trid ELSE attempt.sv_trid END,
       answered_at = CASE WHEN is_closed OR closes_all THEN at END
     FROM written WHERE attempt.${subject} = written.id
       AND (attempt.cl_trid = answered OR closes_all AND attempt.answered_at IS NULL)),
   history AS (
     INSERT INTO ${name}_history (${subject}, at, event, status, phase, note)
     SELECT id, at, event->>'event', event->>'status', event->>'phase', event->>'note'
     FROM written, jsonb_array_elements(events) WITH ORDINALITY AS happened(event, place) ORDER BY item, place)
   ${effects.map((effect) => `, ${effect}`).join("")}
   SELECT written.item, version_now AS version, begun.cl_trid, concat(${tell}, CASE WHEN ${isCalled} THEN ${wake(name, "registry_id")}::text END) AS told
   FROM written LEFT JOIN begun ON begun.${subject} = written.id`;
  return statement(`${name}s-write`, text, { item: "int4", version: "int8", cl_trid: "text?", told: "text" });
}
