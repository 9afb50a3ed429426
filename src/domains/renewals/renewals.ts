/** Renewals in the database: how to read them, and what writing a renewal adds to writing any change. */
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import {
  type AlarmChange,
  type ChangeContext,
  type ChangeTable,
  longestWaitMs,
  type Outcome,
  type StepCopy,
} from "#domains/changes/change.ts";
import { dueRows, wakeAll } from "#domains/changes/due.ts";
import { attemptsOf, parseAttempts } from "#domains/changes/proof.ts";
import { createWriter } from "#domains/changes/write.ts";
import { type Departure, leavePortfolio } from "#domains/portfolio/rows.ts";
import {
  isRenewalOver,
  type RenewalEvent,
  type RenewalState,
  renewalPhases,
  renewalStateTable,
  renewalStatuses,
} from "#domains/renewals/states.ts";

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
  base_ex_date: "timestamptz?",
  renewed_until: "timestamptz?",
  status: renewalStatuses,
  phase: [...renewalPhases, null],
  verify_cause: ["answered", "lost", "unseen", null],
  confirm_after: "timestamptz?",
  backoff_count: "int4",
  next_step_at: "timestamptz",
  reason: "text?",
  updated_at: "timestamptz",
} as const;

// If the name has left the portfolio or is in its next term, there is nothing left to do.
const renewalById = statement(
  "renewal-by-id",
  `SELECT ${Object.keys(columns).map((column) => `r.${column}`)}, name.will_renew, name.registry_ex_date,
     name.gone_since, CASE WHEN maintenance_from <= $now::timestamptz AND maintenance_until > $now THEN maintenance_until END AS maintenance_until,
     ${attemptsOf("renewal_id", "r.id")} AS attempts
   FROM renewals AS r JOIN domains AS name ON name.renewal_id = r.id LEFT JOIN registries AS registry ON registry.id = r.registry_id
   WHERE r.id = $id AND ended_at IS NULL`,
  {
    ...columns,
    will_renew: "bool",
    registry_ex_date: "timestamptz",
    /** When the registry first showed that the name is not ours any more. */
    gone_since: "timestamptz?",
    /** The end of the registry's maintenance, during maintenance. */
    maintenance_until: "timestamptz?",
    attempts: "jsonb",
  },
);
type RenewalRow = NonNullable<(typeof renewalById)["row"]>;

export type Renewal = StepCopy<RenewalRow>;

/** The outcome of a renewal's step, with everything that is written with it. */
export interface RenewalOutcome extends Outcome<RenewalEvent> {
  /** The registry's exDate, as `<info>` showed it. */
  exDate?: Date | undefined;
  /** The date from which a renew of this term counts. */
  baseExDate?: Date | undefined;
  /** The end of the new term, once the name is renewed. */
  renewedUntil?: Date | undefined;
  /** How the name left the portfolio, once it has. */
  departure?: Departure | undefined;
  /** The note of an alarm about dates. */
  alarm?: string | undefined;
}

const renewalWriter = createWriter({
  table: "renewals",
  name: "renewal",
  columns: "base_ex_date timestamptz, renewed_until timestamptz",
  values: `will_renew bool, ex_date timestamptz, term_note text, left_as text, gaining_registrar text,
    restorable_until timestamptz`,
  // Every change of a name or its renewal locks the name's row first, so that none deadlocks with another.
  lock: [
    `names AS MATERIALIZED (
     SELECT renewal_id, will_renew FROM domains WHERE renewal_id = ANY (ARRAY(
       SELECT id FROM jsonb_to_recordset($items::jsonb) AS item(id int8))) ORDER BY domain_name FOR UPDATE),
   `,
    "JOIN names ON names.renewal_id = row.id",
  ],
  // The outcome of a query depends on `will_renew`, and the query can be repeated; the answer to a command stands.
  guard: "(names.will_renew = change.will_renew OR change.answered IS NOT NULL)",
  effects: [
    `dates AS (
     UPDATE domains AS name SET registry_ex_date = coalesce(ex_date, name.registry_ex_date),
       expiration_date = CASE WHEN written.status = 'Renewed' THEN renewed_until ELSE name.expiration_date END,
       renewal_id = CASE WHEN written.status = 'Renewed' THEN NULL ELSE name.renewal_id END
     FROM written WHERE name.renewal_id = written.id AND written.status <> 'Ended'
       AND (written.status = 'Renewed' OR name.registry_ex_date <> ex_date))`,
    `ends AS (
     INSERT INTO domain_history (domain_name, reseller_id, at, event, note)
     SELECT domain_name, reseller_id, at, lower(status), term_note FROM written WHERE status IN ('Renewed', 'Ended'))`,
    ...leavePortfolio(
      "(SELECT domain_name, at, left_as, gaining_registrar, restorable_until FROM written WHERE status = 'Ended')",
    ),
  ],
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
  // These are steps of the next attempt.
  keepsBackoff: new Set<RenewalEvent>(["renewable", "resumed", "pending", "unanswered"]),

  after: (renewal, { baseExDate, renewedUntil }) => ({
    base_ex_date: baseExDate ?? renewal.base_ex_date,
    renewed_until: renewedUntil ?? null,
  }),

  values({ will_renew, renewed_until }, { exDate, reason, departure }, to) {
    if (to === "Renewed" && !renewed_until) throw new Error("a renewed name needs the end of its new term");
    if (to === "Ended" && !departure) throw new Error("a renewal can only end with the name's departure");
    return {
      will_renew,
      ex_date: exDate,
      ...(to === "Renewed" && { term_note: renewed_until?.toISOString() }),
      ...(departure && {
        term_note: reason,
        left_as: departure.reason,
        gaining_registrar: departure.gainingRegistrar,
        restorable_until: departure.restorableUntil,
      }),
    };
  },

  alarms(renewal, { event, reason, alarm, attempt }, to, now) {
    const { domain_name: subject, registry_id } = renewal;
    const changes: AlarmChange[] = [];
    if (event === "out-of-credit") {
      const note = `renewals wait for credit at ${registry_id}: ${reason}`;
      changes.push({ kind: "renewal-credit", subject: registry_id, note });
    }
    // A renew only: a delete is free, so an accepted one says nothing about the credit.
    const isAccepted = to === "Processing (verify: answered)" && event === "answered";
    const isDone = to === "Renewed" && attempt !== undefined;
    if (isAccepted || isDone) changes.push({ kind: "renewal-credit", subject: registry_id });
    const needsOperator = to === "Attention" || to === "Processing (verify: unseen)";
    if (needsOperator) changes.push({ kind: "renewal", subject, note: reason ?? event ?? "" });
    // This alarm stays open until an operator resolves it.
    if (alarm !== undefined) changes.push({ kind: "renewal-dates", subject, note: alarm });
    // After the end of its term, an unwanted name still has to leave.
    const isSettled = isRenewalOver(to as RenewalState) || (event === "not-wanted" && now < renewal.term_ends_at);
    if (isSettled) changes.push({ kind: "renewal", subject });
    return changes;
  },
};

interface RenewalReader extends Pick<ChangeContext, "clock"> {
  database: Pick<Transaction, "query">;
}

export async function findRenewal({ database, clock }: RenewalReader, id: number): Promise<Renewal | undefined> {
  const [row] = await database.query(renewalById, { id, now: clock.now() });
  return row && { ...row, attempts: parseAttempts(row.attempts), unwritten: [] };
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
