/** Renewals in the database: how to read them, and what writing a renewal adds to writing any change. */
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import {
  type ChangeContext,
  type ChangeTable,
  longestWaitMs,
  type Outcome,
  type StepCopy,
} from "#domains/orders/change.ts";
import { dueRows, wake, wakeAll } from "#domains/orders/due.ts";
import { placeFollowUps } from "#domains/orders/follow-up.ts";
import { createWriter } from "#domains/orders/write.ts";
import { type Departure, leavePortfolio } from "#domains/portfolio/rows.ts";
import {
  isRenewalOver,
  type RenewalEvent,
  type RenewalState,
  renewalPhases,
  renewalStateTable,
  renewalStatuses,
} from "#domains/schedule/states.ts";

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
     name.gone_since, placed.change_code AS order_code, placed.kind AS order_kind, placed.status AS order_status,
     placed.reason AS order_reason, placed.operator_note AS order_note, placed.settle_as AS order_settled_as,
     placed.change_code IS NOT NULL AND placed.ended_at IS NULL AS is_order_live, CASE WHEN maintenance_from <= $now::timestamptz AND maintenance_until > $now THEN maintenance_until END AS maintenance_until
   FROM renewals AS r JOIN domains AS name ON name.renewal_id = r.id LEFT JOIN registries AS registry ON registry.id = r.registry_id
     LEFT JOIN LATERAL (
       SELECT change_code, kind, status, reason, operator_note, settle_as, ended_at
       FROM changes WHERE changes.renewal_id = r.id ORDER BY id DESC LIMIT 1) AS placed ON true
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

export type Renewal = StepCopy<RenewalRow>;

/** The outcome of a renewal's step, with everything that is written with it. */
export interface RenewalOutcome extends Outcome<RenewalEvent> {
  /** The registry's exDate, as `<info>` showed it. */
  exDate?: Date | undefined;
  /** The order that it places. */
  places?: { code: string; kind: "renew" | "delete"; input: object };
  /** Its order has raised the alarm. */
  isOrders?: true;
  /** How the name left the portfolio, once it has. */
  departure?: Departure | undefined;
}

// A renewal ends as `Renewed` in the statement that ends the order (src/domains/orders/change-orders.ts).
const renewalWriter = createWriter({
  table: "renewals",
  name: "renewal",
  columns: "renewed_until timestamptz",
  sendsCommands: false,
  values: `will_renew bool, ex_date timestamptz, term_note text, left_as text, gaining_registrar text,
    restorable_until timestamptz, places_code text, places_kind text, places_input jsonb`,
  // Every change of a name or its renewal locks the name's row first, so that none deadlocks with another.
  lock: [
    `names AS MATERIALIZED (
     SELECT renewal_id, will_renew FROM domains WHERE renewal_id = ANY (ARRAY(
       SELECT id FROM jsonb_to_recordset($items::jsonb) AS item(id int8))) ORDER BY domain_name FOR UPDATE),
   `,
    "JOIN names ON names.renewal_id = row.id",
  ],
  // What a step decides depends on `will_renew`, and it can be repeated.
  guard: "names.will_renew = change.will_renew",
  effects: [
    `dates AS (
     UPDATE domains AS name SET registry_ex_date = ex_date
     FROM written WHERE name.renewal_id = written.id AND written.status <> 'Ended' AND name.registry_ex_date <> ex_date)`,
    ...placeFollowUps(
      "placed",
      `(SELECT places_code AS code, reseller_id, domain_name, registry_id, places_kind AS kind, places_input AS input, at,
        at AS due_at, id AS renewal_id FROM written WHERE places_code IS NOT NULL) AS of_terms`,
      { note: "'by the schedule'", isSchedules: true },
    ),
    `ends AS (
     INSERT INTO domain_history (domain_name, reseller_id, at, event, note)
     SELECT domain_name, reseller_id, at, 'ended', term_note FROM written WHERE status = 'Ended')`,
    ...leavePortfolio(
      "(SELECT domain_name, at, left_as, gaining_registrar, restorable_until FROM written WHERE status = 'Ended')",
    ),
  ],
  signal: `CASE WHEN places_code IS NOT NULL THEN ${wake("change", "registry_id")}::text END`,
});

/** A renewal whose name has left the portfolio or is in its next term has nothing to do. */
export const dueRenewals = dueRows({
  table: "renewals",
  name: "renewal",
  longestWaitMs,
  taken: "EXISTS (SELECT FROM domains WHERE domains.renewal_id = renewals.id)",
  scheduled: "status = 'Scheduled' OR phase IS NOT DISTINCT FROM 'wait'",
});

export const renewalTable: ChangeTable<Renewal, RenewalOutcome> = {
  states: renewalStateTable,
  writer: renewalWriter,
  find: findRenewal,
  keepsBackoff: new Set<RenewalEvent>(),
  after: () => ({}),

  values({ will_renew }, { exDate, reason, departure, places }, to) {
    if (to === "Ended" && !departure) throw new Error("a renewal can only end with the name's departure");
    return {
      will_renew,
      ex_date: exDate,
      ...(places && { places_code: places.code, places_kind: places.kind, places_input: places.input }),
      ...(departure && {
        term_note: reason,
        left_as: departure.reason,
        gaining_registrar: departure.gainingRegistrar,
        restorable_until: departure.restorableUntil,
      }),
    };
  },

  alarms(renewal, { event, reason, isOrders }, to, now) {
    const { domain_name: subject } = renewal;
    if (to === "Attention" && !isOrders) return [{ kind: "renewal", subject, note: reason ?? event ?? "" }];
    // After the end of its term, an unwanted name still has to leave.
    const isSettled = isRenewalOver(to as RenewalState) || (event === "not-wanted" && now < renewal.term_ends_at);
    return isSettled ? [{ kind: "renewal", subject }] : [];
  },
};

interface RenewalReader extends Pick<ChangeContext, "clock"> {
  database: Pick<Transaction, "query">;
}

export async function findRenewal({ database, clock }: RenewalReader, id: number): Promise<Renewal | undefined> {
  const [row] = await database.query(renewalById, { id, now: clock.now() });
  // Its commands are those of its orders.
  return row && { ...row, verify_cause: null, confirm_after: null, attempts: [], unwritten: [] };
}

const moveRenewal = statement(
  "renewal-move-step",
  `WITH moved AS (UPDATE renewals SET next_step_at = $at WHERE id = $id AND ended_at IS NULL RETURNING registry_id)
   ${wakeAll("renewal", "moved")}`,
  { notified: "int8" },
);

/** Moves a renewal's next step, and wakes the registry's owner. */
export async function rescheduleRenewal(tx: Pick<Transaction, "query">, id: number, at: Date): Promise<void> {
  await tx.query(moveRenewal, { id, at });
}
