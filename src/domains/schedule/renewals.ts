/** Renewals in the database: how to read and write them. */
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { placeFollowUps } from "#domains/orders/follow-up.ts";
import { OrderConflict, type WriteContext } from "#domains/orders/order.ts";
import { assertLeaseStands, isPresentEpoch, type RegistrySessions, wake } from "#domains/registry/sessions.ts";
import {
  type RenewalEvent,
  type RenewalState,
  renewalPhases,
  renewalStateTable,
  renewalStatuses,
} from "#domains/schedule/states.ts";
import { newOrderCode } from "#lib/order-code.ts";
import { columnsOf, stateOf } from "#progress/state-table.ts";

const columns = {
  id: "int8",
  version: "int8",
  renewal_code: "text",
  reseller_id: "int8",
  domain_name: "text",
  registry_id: "text",
  period_years: "int4",
  term_ends_at: "timestamptz",
  due_at: "timestamptz",
  renewed_until: "timestamptz?",
  status: renewalStatuses,
  phase: [...renewalPhases, null],
  backoff_count: "int4",
  next_step_at: "timestamptz",
  reason: "text?",
  updated_at: "timestamptz",
} as const;

// If the name has left the portfolio or is in its next term, there is nothing left to do.
const renewalById = statement(
  "renewal-by-id",
  `SELECT ${Object.keys(columns).map((column) => `r.${column}`)}, name.will_renew, name.registry_ex_date,
     name.gone_since, placed.order_code, placed.kind AS order_kind, placed.status AS order_status,
     placed.reason AS order_reason, placed.operator_note AS order_note, placed.settle_as AS order_settled_as,
     placed.order_code IS NOT NULL AND placed.ended_at IS NULL AS is_order_live, CASE WHEN maintenance_from <= $now::timestamptz AND maintenance_until > $now THEN maintenance_until END AS maintenance_until
   FROM renewals AS r JOIN domains AS name ON name.renewal_id = r.id LEFT JOIN registries AS registry ON registry.id = r.registry_id
     LEFT JOIN LATERAL (
       SELECT order_code, kind, status, reason, operator_note, settle_as, ended_at
       FROM orders WHERE orders.renewal_id = r.id ORDER BY id DESC LIMIT 1) AS placed ON true
   WHERE r.id = $id AND r.ended_at IS NULL`,
  {
    ...columns,
    will_renew: "bool",
    registry_ex_date: "timestamptz",
    /** When the registry first showed that the name is not ours any more. */
    gone_since: "timestamptz?",
    /** Its latest order. */
    order_code: "text?",
    order_kind: ["renew", "delete", null],
    order_status: "text?",
    order_reason: "text?",
    /** Why it needs an operator. */
    order_note: "text?",
    order_settled_as: "text?",
    is_order_live: "bool",
    /** The end of the registry's maintenance, during maintenance. */
    maintenance_until: "timestamptz?",
  },
);
type RenewalRow = NonNullable<(typeof renewalById)["row"]>;

export type Renewal = Readonly<RenewalRow>;

/** The outcome of a renewal's step, with everything that is written with it. */
export interface RenewalOutcome {
  /** Without one the renewal only waits until `nextStepAt`. */
  event?: RenewalEvent;
  /** When the next step is due; by default at once. */
  nextStepAt?: Date;
  reason?: string;
  /** Counts a failure, for the backoff. */
  countsAsFailure?: true;
  /** The registry's exDate, as `<info>` showed it. */
  exDate?: Date | undefined;
  /** The order that it places. */
  places?: { code: string; kind: "renew" | "delete"; input: object };
  /** Its order has raised the alarm. */
  isOrders?: true;
  /** Locks what the outcome depends on until the transaction ends. @returns whether it still holds */
  holds?: (tx: Transaction) => Promise<boolean>;
}

// Every change of a name or its renewal locks the name's row first, so that none deadlocks with another. What a step decides depends on
// `will_renew`, and it can be repeated. A renewal ends with its order
// (src/domains/orders/write.ts) or with the departure of its name (src/domains/compare/leave.ts).
const writeRow = statement(
  "renewal-write",
  `WITH name AS MATERIALIZED (SELECT renewal_id, will_renew FROM domains WHERE renewal_id = $id FOR UPDATE),
   locked AS MATERIALIZED (
     SELECT row.id FROM renewals AS row JOIN name ON name.renewal_id = row.id
     WHERE row.id = $id AND row.version = $version AND name.will_renew = $will_renew
       AND ($epoch::int8 IS NULL OR ${isPresentEpoch("row.registry_id", "$epoch::int8")}) FOR UPDATE OF row),
   written AS (
     UPDATE renewals AS row SET status = $status, phase = $phase, next_step_at = $next_step_at, backoff_count = $backoff_count,
       reason = $reason, updated_at = CASE WHEN $event::text IS NULL THEN updated_at ELSE $now END
     FROM locked WHERE row.id = locked.id
     RETURNING row.id, row.version, row.status, row.phase, row.reseller_id, row.domain_name, row.registry_id, $now::timestamptz AS at),
   history AS (
     INSERT INTO renewal_history (renewal_id, at, event, status, phase, note)
     SELECT id, at, $event, status, phase, $note FROM written WHERE $event IS NOT NULL),
   dates AS (
     UPDATE domains SET registry_ex_date = $ex_date::timestamptz
     FROM written WHERE domains.renewal_id = written.id AND registry_ex_date <> $ex_date),
   ${placeFollowUps(
     "placed",
     `(SELECT $places_code::text AS code, reseller_id, domain_name, registry_id, $places_kind::text AS kind, $places_input::jsonb AS input,
          at, at AS due_at, id AS renewal_id FROM written WHERE $places_code IS NOT NULL) AS of_terms`,
     { note: "'by the schedule'", isSchedules: true },
   ).join(",\n   ")}
   SELECT version, CASE WHEN $places_code IS NOT NULL THEN ${wake("'schedule'", "registry_id")}::text END AS woken FROM written` as string,
  { version: "int8", woken: "text?" },
);

/**
 * Writes an outcome, by itself or in a transaction that writes more.
 * @throws OrderConflict when the renewal or its name has changed since it was read
 * @throws LeaseLost when this process no longer owns the registry
 */
export async function writeRenewal(
  context: WriteContext,
  renewal: Renewal,
  outcome: RenewalOutcome,
  tx?: Transaction,
): Promise<void> {
  const { database, clock, lease } = context;
  const now = clock.now();
  const { event, nextStepAt = now, reason, exDate, places } = outcome;
  const from = stateOf<RenewalState>({ ...renewal, verify_cause: null });
  const to = event === undefined ? from : renewalStateTable.next(from, event)?.to;
  if (to === undefined) throw new Error(`the state ${from} has no event ${event}`);
  const alarm = alarmOf(renewal, outcome, to, now);
  if (!tx && (outcome.holds || alarm)) {
    await database.transaction((own) => writeRenewal(context, renewal, outcome, own));
    return;
  }
  if (tx && outcome.holds && !(await outcome.holds(tx))) throw new OrderConflict();
  const { status, phase } = columnsOf(to);
  const failures = outcome.countsAsFailure ? renewal.backoff_count + 1 : 0;
  const on = tx ?? database;
  const [written] = await on.query(writeRow, {
    id: renewal.id,
    version: renewal.version,
    epoch: lease?.epoch ?? null,
    will_renew: renewal.will_renew,
    status,
    phase,
    next_step_at: nextStepAt,
    backoff_count: event === undefined ? renewal.backoff_count : failures,
    reason: reason ?? renewal.reason,
    event: event ?? null,
    note: reason ?? null,
    now,
    ex_date: exDate ?? null,
    places_code: places?.code ?? null,
    places_kind: places?.kind ?? null,
    places_input: places?.input ?? null,
  });
  if (!written) {
    await assertLeaseStands(on, lease);
    throw new OrderConflict();
  }
  if (!alarm) return;
  const { note, ...about } = alarm;
  if (note === undefined) await resolveAlarm(context, about, tx);
  else await raiseAlarm(context, { ...about, note }, tx);
}

/** The alarm about a name's renewal that an outcome raises, with a note, or resolves. */
function alarmOf(renewal: Renewal, { event, reason, isOrders }: RenewalOutcome, to: RenewalState, now: Date) {
  if (event === undefined) return undefined;
  const alarm: { kind: "renewal"; subject: string; note?: string } = { kind: "renewal", subject: renewal.domain_name };
  if (to === "Attention" && !isOrders) return { ...alarm, note: reason ?? event };
  // After the end of its term, an unwanted name still has to leave.
  return event === "not-wanted" && now < renewal.term_ends_at ? alarm : undefined;
}

interface RenewalReader extends Pick<WriteContext, "clock"> {
  database: Pick<Transaction, "query">;
}

/** @returns nothing when its name has left the portfolio or is in its next term */
export async function findRenewal({ database, clock }: RenewalReader, id: number): Promise<Renewal | undefined> {
  return (await database.query(renewalById, { id, now: clock.now() }))[0];
}

const moveRenewal = statement(
  "renewal-move-step",
  `WITH moved AS (UPDATE renewals SET next_step_at = $at WHERE id = $id AND ended_at IS NULL RETURNING registry_id)
   SELECT count(${wake("'renewal'", "registry_id")}) AS notified FROM moved`,
  { notified: "int8" },
);

/** Moves a renewal's next step, and wakes the registry's session holder. */
export async function rescheduleRenewal(tx: Pick<Transaction, "query">, id: number, at: Date): Promise<void> {
  await tx.query(moveRenewal, { id, at });
}

/** The order that a renewal places. Its first one has its code: no other order has these random characters. */
export function scheduledOrder(
  { context }: RegistrySessions,
  { renewal_code, order_code }: Renewal,
  kind: "renew" | "delete",
  input: object,
): NonNullable<RenewalOutcome["places"]> {
  const prefix = kind === "renew" ? "REN" : "CHG";
  const code = order_code === null ? prefix + renewal_code.slice(prefix.length) : newOrderCode(context.random, prefix);
  return { code, kind, input };
}
