/**
 * The one way to write an order: its state, the events that led there, the answer to a command, the attempt row of the next command,
 * and what its end writes elsewhere. All of it is one statement for several orders, so those that begin or end at the same moment share
 * a round trip and a commit (src/db/batch.ts).
 *
 * An order is written only over the version that was read, and by a session holder only during its epoch. The answer to a command needs
 * no epoch: it is true whichever process writes it, and it comes only once.
 */
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import { itemsText } from "#db/batch.ts";
import type { Database, Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { placeFollowUps, placeLocks } from "#domains/orders/follow-up.ts";
import {
  applyEvent,
  type FoundDecision,
  type Order,
  OrderConflict,
  type OrderEnd,
  type Outcome,
  type WriteContext,
} from "#domains/orders/order.ts";
import { isFinal } from "#domains/orders/states.ts";
import {
  authCodeEffects,
  enterPortfolio,
  leavePortfolio,
  returnToPortfolio,
  type ShownDomain,
  takeShown,
} from "#domains/portfolio/rows.ts";
import { isPausedForCredit } from "#domains/registry/pause.ts";
import {
  assertLeaseStands,
  attentionRetryMs,
  isPresentEpoch,
  mayBegin,
  type OwnerContext,
  wake,
} from "#domains/registry/sessions.ts";
import { measure } from "#lib/measure/measure.ts";

/** What a write says besides the row's columns, with their types. */
const itemColumns = `item int4, id int8, version int8, epoch int8, at timestamptz, is_over bool, events jsonb, answered text,
  result_code int4, sv_trid text, is_closed bool, closes_all bool, command text`;
const rowColumns = `status text, phase text, verify_cause text, confirm_after timestamptz, next_step_at timestamptz, backoff_count int4,
  disputes int4, waiting_since timestamptz, reason text, operator_note text, cancel_requested_at timestamptz, settle_as text,
  settle_note text, found jsonb`;
const endColumns = `shown jsonb, renewed_until timestamptz, left_as text, restorable_until timestamptz, registered_at timestamptz,
  expires_at timestamptz, domain_status text, delegation jsonb, handles jsonb`;

/** The names of columns that are listed with their types. */
const namesOf = (columns: string) => columns.split(",").map((column) => column.trim().split(" ")[0]!);
const given = `${itemColumns}, ${rowColumns}, ${endColumns}`;
const givenNames = (of: string) => namesOf(given).map((column) => `${of}${column}`);
const written = namesOf(rowColumns);
/** What the statement reads of the row as it was before: the end of an order erases its secret. */
const ownNames = [
  "code",
  "kind",
  "lane",
  "input",
  "secret_sealed",
  "renewal_id",
  "domain_name",
  "registry_id",
  "reseller_id",
  "traceparent",
];

// A write without epoch and answer comes from outside the order's steps: it asks for one.
const isCalled = "epoch IS NULL AND answered IS NULL AND NOT is_over AND next_step_at <= at";

const hasOpen = (commands = "") => `EXISTS (SELECT FROM attempts AS open
         WHERE open.order_id = row.id AND open.answered_at IS NULL ${commands})`;

interface Parts {
  name: string;
  /** SQL: a CTE before all others, and how the row is joined with it. */
  lock?: [cte: string, join: string];
  /** SQL: a condition for an attempt to begin. */
  mayBegin: string;
  /** SQL: CTEs that write elsewhere, from `written`. */
  effects: string[];
  /** SQL: wakes other machines. */
  wakes: string;
}

const writing = ({ name, lock: [cte, join] = ["", ""], mayBegin: condition, effects, wakes }: Parts) =>
  statement(
    name,
    `WITH ${cte}change AS MATERIALIZED (
     SELECT ${givenNames("")} FROM jsonb_to_recordset($items::jsonb) AS item(${given})),
   locked AS MATERIALIZED (
     SELECT ${givenNames("change.")}, row.order_code AS code, ${ownNames.slice(1).map((column) => `row.${column}`)}
     FROM change JOIN orders AS row ON row.id = change.id AND row.id = ANY (ARRAY(SELECT id FROM change)) ${join}
     WHERE row.version = change.version
       AND (change.epoch IS NULL OR ${isPresentEpoch("row.registry_id", "change.epoch")})
       AND (change.command IS NULL OR ${mayBegin("row.registry_id", "change.epoch")} AND ${condition})
     ORDER BY row.id FOR UPDATE OF row),
   written AS (
     UPDATE orders AS row SET ${written.map((column) => `${column} = change.${column}`)},
       updated_at = CASE WHEN change.events = '[]' THEN row.updated_at ELSE change.at END,
       ended_at = CASE WHEN change.is_over THEN change.at END
     FROM locked AS change WHERE row.id = change.id AND row.id = ANY (ARRAY(SELECT id FROM locked))
     RETURNING ${givenNames("change.")}, ${ownNames.map((column) => `change.${column}`)}, row.version AS version_now),
   begun AS (
     INSERT INTO attempts (cl_trid, order_id, number, command, committed_at, epoch)
     SELECT code || '-' || next.number, id, next.number, command, at, epoch
     FROM written, LATERAL (
       SELECT coalesce(max(number), 0) + 1 AS number FROM attempts WHERE attempts.order_id = written.id) AS next
     WHERE command IS NOT NULL ON CONFLICT DO NOTHING RETURNING order_id, cl_trid),
   answer AS (
     UPDATE attempts AS attempt SET
       result_code = CASE WHEN attempt.cl_trid = answered THEN written.result_code ELSE attempt.result_code END,
       sv_trid = CASE WHEN attempt.cl_trid = answered THEN written.sv_trid ELSE attempt.sv_trid END,
       answered_at = CASE WHEN is_closed OR closes_all THEN at END
     FROM written WHERE attempt.order_id = written.id
       AND (attempt.cl_trid = answered OR closes_all AND attempt.answered_at IS NULL)),
   history AS (
     INSERT INTO order_history (order_id, at, event, status, phase, note)
     SELECT id, at, event->>'event', event->>'status', event->>'phase', event->>'note'
     FROM written, jsonb_array_elements(events) WITH ORDINALITY AS ordered(event, place) ORDER BY item, place),
   ${effects.join(",\n   ")}
   SELECT written.item, version_now AS version, begun.cl_trid, concat(
     CASE WHEN events <> '[]' THEN notify_after_commit('order_changed', code)::text END, ${wakes},
     CASE WHEN ${isCalled} THEN ${wake("lane", "registry_id")}::text END) AS woken
   FROM written LEFT JOIN begun ON order_id = written.id` as string,
    { item: "int4", version: "int8", cl_trid: "text?", woken: "text" },
  );

// A registration has no row in `domains` until its end, and no other order waits for it.
const writeRegistrations = writing({
  name: "registrations-write",
  // While only an operator can help, the registry would refuse one order after the other, and each would end.
  mayBegin: `NOT ${hasOpen("AND open.command LIKE 'domain:%'")}
         AND (change.command <> 'domain:create' OR NOT EXISTS (SELECT FROM registries AS registry
           WHERE registry.id = row.registry_id AND NOT ${isPausedForCredit("registry")}))`,
  effects: [
    `registered AS (${enterPortfolio(`(
       SELECT domain_name, reseller_id, id, registry_id, registered_at, expires_at, (input ->> 'will_renew')::bool AS will_renew,
         domain_status, delegation, handles FROM written WHERE registered_at IS NOT NULL ORDER BY item) AS new`)})`,
    ...placeFollowUps(
      "later",
      `(SELECT input -> 'later' ->> 'order_code' AS code, reseller_id, domain_name, registry_id, 'nameservers' AS kind,
          jsonb_build_object('name_servers', input -> 'later' -> 'name_servers') AS input, at, at AS due_at,
          traceparent
        FROM written WHERE registered_at IS NOT NULL AND input ? 'later') AS followed`,
    ),
    // The message that says otherwise needs an operator: `alarmsOf`.
    `contradicted AS (
     UPDATE poll_messages AS message SET needs_operator = true, outcome = 'kept' FROM written
     WHERE written.status = 'Finished' AND found #>> '{decision,is}' = 'denied'
       AND message.registry_id = written.registry_id AND message_id = found #>> '{decision,message_id}')`,
    ...placeLocks("written WHERE registered_at IS NOT NULL AND (input ->> 'locks_name')::bool"),
  ],
  wakes: `CASE WHEN registered_at IS NOT NULL AND (input ? 'later' OR (input ->> 'locks_name')::bool)
       THEN ${wake("'value'", "registry_id")}::text END`,
});

const nameLanes = `SELECT string_agg(${wake("name_lane", "written.registry_id")}::text, '')
       FROM unnest(ARRAY['urgent', 'value', 'schedule']) AS name_lane`;

const writeChanges = writing({
  name: "changes-write",
  // Every change of a name locks the name's row first, so that none deadlocks with another. A name that left has none.
  lock: [
    `names AS MATERIALIZED (
     SELECT domain_name, reseller_id FROM domains WHERE domain_name = ANY (ARRAY(
       SELECT domain_name FROM orders WHERE id = ANY (ARRAY(
         SELECT id FROM jsonb_to_recordset($items::jsonb) AS item(id int8))))) ORDER BY domain_name FOR UPDATE),
   `,
    "LEFT JOIN names ON names.domain_name = row.domain_name",
  ],
  // A lost command about a host or a contact may still be executed, too.
  mayBegin: `NOT ${hasOpen()}`,
  effects: [
    `shown AS (
     UPDATE domains AS domain SET ${takeShown("written.shown", "written.at")},
       expiration_date = coalesce(written.renewed_until, domain.expiration_date),
       renewal_id = CASE WHEN written.renewed_until IS NULL THEN domain.renewal_id END
     FROM written WHERE domain.domain_name = written.domain_name AND domain.reseller_id = written.reseller_id
       AND written.shown IS NOT NULL AND written.left_as IS NULL)`,
    ...leavePortfolio(
      "(SELECT domain_name, at, left_as, NULL AS gaining_registrar, restorable_until FROM written WHERE left_as IS NOT NULL)",
    ),
    ...returnToPortfolio(
      "(SELECT domain_name, reseller_id, at, registered_at, expires_at, shown FROM written WHERE registered_at IS NOT NULL)",
    ),
    // The order has done what the schedule would have done, or there is nothing left to do.
    `renewals_over AS (
     UPDATE renewals AS renewal SET status = CASE WHEN left_as IS NULL THEN 'Renewed' ELSE 'Ended' END, phase = NULL,
       renewed_until = written.renewed_until, reason = 'by order ' || code, updated_at = at, ended_at = at
     FROM written WHERE (written.renewed_until IS NOT NULL OR left_as IS NOT NULL)
       AND renewal.domain_name = written.domain_name AND renewal.ended_at IS NULL
     RETURNING renewal.id, at, renewal.status, renewal.reason)`,
    `renewals_told AS (
     INSERT INTO renewal_history (renewal_id, at, event, status, note)
     SELECT id, at, CASE status WHEN 'Renewed' THEN 'renewed' ELSE 'left' END, status, reason FROM renewals_over)`,
    // The schedule follows its order: it has ended, or it needs an operator, or no longer does. Another one follows later, or at
    // once if an operator knows that this one was not executed.
    `schedule AS (
     UPDATE renewals AS renewal SET next_step_at = at + CASE
       WHEN is_over AND renewal.status = 'Attention' AND settle_as IS DISTINCT FROM 'failed'
       THEN interval '${attentionRetryMs / 1_000} s' ELSE interval '0' END FROM written
     WHERE renewal.id = written.renewal_id AND renewal.ended_at IS NULL AND written.renewed_until IS NULL AND left_as IS NULL
       AND events <> '[]' AND (is_over OR (operator_note IS NOT NULL) <> (renewal.status = 'Attention'))
     RETURNING renewal.id, renewal.registry_id)`,
    `names_told AS (
     INSERT INTO domain_history (domain_name, reseller_id, at, event, note)
     SELECT domain_name, reseller_id, at, CASE WHEN left_as IS NOT NULL THEN 'ended'
         WHEN registered_at IS NOT NULL THEN 'restored' ELSE 'renewed' END,
       coalesce(to_char(renewed_until AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'by order ' || code)
     FROM written WHERE coalesce(renewed_until, registered_at) IS NOT NULL OR left_as IS NOT NULL)`,
    ...authCodeEffects,
    // The next order about the name waits until this one ends, or waits itself with nothing that may be executed. One that has
    // begun may wait for its next attempt: two that fail do not wake each other.
    `followers AS (
     UPDATE orders AS follower SET next_step_at = written.at FROM written
     WHERE follower.domain_name = written.domain_name AND follower.id <> written.id AND follower.ended_at IS NULL
       AND follower.kind <> 'create'
       AND (written.is_over AND (follower.status = 'NotProvisioned' OR follower.phase = 'send')
         OR follower.status = 'NotProvisioned' AND written.events <> '[]' AND written.command IS NULL
           AND written.phase IS DISTINCT FROM 'verify' AND written.next_step_at > written.at)
     RETURNING written.id AS followed)`,
  ],
  wakes: `CASE WHEN is_over OR id IN (SELECT followed FROM followers) THEN (${nameLanes}) END,
     (SELECT ${wake("'renewal'", "schedule.registry_id")}::text FROM schedule WHERE schedule.id = written.renewal_id)`,
});

function itemOf({ lease, clock }: WriteContext, before: Order, order: Order, { attempt, shown, end }: Outcome) {
  const isOver = isFinal(order.status);
  const columns = written.map((name) => [name, order[name as keyof Order]]);
  return {
    ...Object.fromEntries(columns),
    id: order.id,
    version: order.version,
    at: clock.now(),
    epoch: attempt ? null : (lease?.epoch ?? null),
    events: order.unwritten,
    is_over: isOver,
    ...(attempt && { answered: attempt.clTrid, result_code: attempt.resultCode, sv_trid: attempt.svTrid }),
    is_closed: attempt?.isClosed ?? false,
    closes_all: isOver || (before.phase === "verify" && order.phase !== "verify"),
    shown: shown ? withNewTerm(shown, end) : null,
    renewed_until: end?.renewedUntil,
    left_as: end?.departure?.reason,
    restorable_until: end?.departure?.restorableUntil,
    registered_at: (end?.registered ?? end?.returned)?.registeredAt,
    expires_at: (end?.registered ?? end?.returned)?.expiresAt,
    domain_status: end?.registered?.status,
    delegation: end?.registered?.nameServers,
    handles: end?.registered?.handles,
  };
}

/** Where the registry shows no dates, the end of the new term is its date, too. */
function withNewTerm(shown: ShownDomain, end: OrderEnd | undefined): ShownDomain {
  if (shown.ex_date !== null || !end?.renewedUntil) return shown;
  return { ...shown, ex_date: end.renewedUntil.toISOString() };
}

type Item = ReturnType<typeof itemOf> & { command?: string };

/** Begins and ends are batched: many come at once. Writes in between are not, so that none waits for another. */
function writeOne(to: Database | Transaction, { kind }: Order, item: Item) {
  const write = kind === "create" ? writeRegistrations : writeChanges;
  const isBatched = item.is_over || (item.command !== undefined && item.events.length > 0);
  return "batched" in to && isBatched ? to.batched(write, item) : to.query(write, { items: itemsText([item]) });
}

/** Nothing was written. @throws OrderConflict, LeaseLost */
async function refuse(context: WriteContext, tx: Pick<Transaction, "query">): Promise<never> {
  await assertLeaseStands(tx, context.lease);
  throw new OrderConflict();
}

/**
 * Writes an outcome, by itself or in a transaction that writes more.
 * @returns the order as it is now
 * @throws OrderConflict when the order has changed since it was read
 * @throws LeaseLost when this process no longer owns the registry
 */
export async function write(context: WriteContext, order: Order, outcome: Outcome, tx?: Transaction): Promise<Order> {
  const { database, clock } = context;
  const next = applyEvent(order, outcome, clock.now());
  if (next.status === "Finished" && order.kind === "create" && !outcome.end?.registered) {
    throw new Error("a registration can only finish with its dates");
  }
  const alarms = outcome.event === undefined ? [] : alarmsOf(order, next, outcome);
  if (!tx && (outcome.holds || alarms.length > 0)) {
    return database.transaction((own) => write(context, order, outcome, own));
  }
  if (tx && outcome.holds && !(await outcome.holds(tx))) throw new OrderConflict();
  const [done] = await writeOne(tx ?? database, order, itemOf(context, order, next, outcome));
  if (!done) return refuse(context, tx ?? database);
  if (isFinal(next.status)) measureEnd(next, clock.now());
  for (const { kind, subject, note } of alarms) {
    if (note === undefined) await resolveAlarm(context, { kind, subject }, tx);
    else await raiseAlarm(context, { kind, subject, note }, tx);
  }
  return { ...next, version: done.version, unwritten: [] };
}

function measureEnd({ kind, registry_id: registry, status, created_at }: Order, now: Date): void {
  measure("order_duration_seconds", { kind, registry, status }, (now.getTime() - created_at.getTime()) / 1_000);
}

/**
 * Commits the attempt row of a command, with the order's unwritten events; only then may the command's first byte be written. It is
 * one statement, so a process that stands still in the middle cannot commit it much later. It begins nothing while a command is
 * unanswered.
 * @param order afterwards at the version that was written
 * @returns the clTRID to send: `<code>-<n>`, never used before
 * @throws OrderConflict when the order has changed since it was read, or a command is unanswered
 * @throws LeaseLost when this process no longer owns the registry
 */
export async function begin(context: OwnerContext, order: Order, command: string): Promise<string> {
  const item = { ...itemOf(context, order, order, {}), command };
  const [written] = await writeOne(context.database, order, item);
  if (!written?.cl_trid) return refuse(context, context.database);
  order.version = written.version;
  order.unwritten = [];
  context.acknowledged.addCommand(written.cl_trid);
  return written.cl_trid;
}

/** An alarm that is raised, with a note, or resolved. */
interface AlarmChange {
  kind: "message" | "order" | "renewal" | "renewal-credit" | "renewal-dates" | "renewal-held";
  subject: string;
  note?: string;
}

function alarmsOf(before: Order, { status }: Order, outcome: Outcome): AlarmChange[] {
  const { domain_name: subject } = before;
  const { end } = outcome;
  const changes = before.renewal_id === null ? alarmsAsOrder(before, outcome) : alarmsOfSchedule(before, outcome);
  // This alarm stays open until an operator resolves it.
  if (end?.alarm !== undefined) changes.push({ kind: "renewal-dates", subject, note: end.alarm });
  // The name's renewal has waited for it.
  if (before.status === "Pending" && before.kind !== "create" && isFinal(status)) {
    changes.push({ kind: "renewal-held", subject });
  }
  const { decision } = before.found as FoundDecision;
  if (status === "Finished" && decision?.is === "denied") {
    const note = `it says "create denied" of order ${before.order_code}, but the registry holds the name for us`;
    changes.push({ kind: "message", subject: `${before.registry_id}/${decision.message_id}`, note });
  }
  // An alarm about the renewal that has ended with this order.
  if (end?.renewedUntil || end?.departure) changes.push({ kind: "renewal", subject });
  return changes;
}

/** The alarm stays open until an outcome needs no operator. */
function alarmsAsOrder({ order_code, operator_note }: Order, { operatorNote: note }: Outcome): AlarmChange[] {
  const alarm = { kind: "order", subject: order_code } as const;
  if (note !== undefined) return [{ ...alarm, note }];
  return operator_note === null ? [] : [alarm];
}

/** About the name, until its term is over one way or the other; and about the registry, while it refuses renewals. */
function alarmsOfSchedule(order: Order, { event, reason, operatorNote: note }: Outcome): AlarmChange[] {
  const { domain_name, registry_id, kind } = order;
  const changes: AlarmChange[] = note === undefined ? [] : [{ kind: "renewal", subject: domain_name, note }];
  const credit = { kind: "renewal-credit", subject: registry_id } as const;
  if (event === "out-of-credit") {
    changes.push({ ...credit, note: `renewals wait for credit at ${registry_id}: ${reason}` });
  }
  // A delete is free, so an accepted one says nothing about the credit.
  if (event === "answered" && kind === "renew") changes.push(credit);
  return changes;
}
