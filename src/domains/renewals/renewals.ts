/** Renewals in the database: how they are read, and what writing one means beyond what all changes have. */
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
import { leavePortfolio } from "#domains/portfolio/rows.ts";
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
  verify_cause: "text?",
  confirm_after: "timestamptz?",
  backoff_count: "int4",
  next_step_at: "timestamptz",
  reason: "text?",
  updated_at: "timestamptz",
} as const;

// Without the name in its portfolio, or with it in its next term, there is nothing to do any more.
const renewalById = statement(
  "renewal-by-id",
  `SELECT ${Object.keys(columns).map((column) => `r.${column}`)}, name.will_renew, name.registry_ex_date,
     CASE WHEN maintenance_from <= $now::timestamptz AND maintenance_until > $now THEN maintenance_until END AS maintenance_until,
     ${attemptsOf("renewal_id", "r.id")} AS attempts
   FROM renewals AS r JOIN domains AS name ON name.renewal_id = r.id LEFT JOIN registries AS registry ON registry.id = r.registry_id
   WHERE r.id = $id AND ended_at IS NULL`,
  {
    ...columns,
    will_renew: "bool",
    registry_ex_date: "timestamptz",
    /** When the registry's maintenance ends that is going on. */
    maintenance_until: "timestamptz?",
    attempts: "jsonb",
  },
);
type RenewalRow = NonNullable<(typeof renewalById)["row"]>;

export type Renewal = StepCopy<RenewalRow>;

/** Something that happened to a renewal, with everything that is written together with it. */
export interface RenewalOutcome extends Outcome<RenewalEvent> {
  /** The registry's exDate, as info showed it. */
  exDate?: Date | undefined;
  /** What a renew of this term counts from. */
  baseExDate?: Date | undefined;
  /** The end of the new term, for a name that is renewed. */
  renewedUntil?: Date | undefined;
  /** What the operator has to know, beyond what needs attention anyway. */
  alarm?: string | undefined;
}

const renewalWriter = createWriter({
  table: "renewals",
  name: "renewal",
  columns: { base_ex_date: "timestamptz", renewed_until: "timestamptz" },
  values: { will_renew: "bool", ex_date: "timestamptz", ended_for: "text", term_note: "text" },
  // Whoever changes a name or its renewal holds the name's row first: so they cannot wait for each other.
  lock: [
    `names AS MATERIALIZED (
     SELECT renewal_id, will_renew FROM domains WHERE renewal_id = ANY (ARRAY(
       SELECT id FROM jsonb_to_recordset($1::jsonb) AS item(id int8))) ORDER BY domain_name FOR UPDATE),
   `,
    "JOIN names ON names.renewal_id = row.id",
  ],
  // A question can be asked again, and means another thing when the wish has changed; what a command was answered stands.
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
    ...leavePortfolio("(SELECT domain_name, at, ended_for FROM written WHERE status = 'Ended')"),
  ],
});

/** Those of a registry that are due. Without its name in a portfolio, or with it in its next term, a renewal has nothing to do. */
export const dueRenewals = dueRows({
  ...{ table: "renewals", name: "renewal", longestWaitMs },
  taken: "EXISTS (SELECT FROM domains WHERE domains.renewal_id = change.id)",
  scheduled: "status = 'Scheduled' OR phase IS NOT DISTINCT FROM 'wait'",
});

export const renewalTable: ChangeTable<Renewal, RenewalOutcome> = {
  states: renewalStateTable,
  writer: renewalWriter,
  find: findRenewal,
  // They are steps of the next try.
  keepsBackoff: new Set<RenewalEvent>(["renewable", "resumed", "pending", "unanswered"]),

  after: (renewal, { baseExDate, renewedUntil }) => ({
    base_ex_date: baseExDate ?? renewal.base_ex_date,
    renewed_until: renewedUntil ?? null,
  }),

  values({ will_renew, base_ex_date, renewed_until }, { exDate, reason }, to) {
    if (to === "Renewed" && !renewed_until) throw new Error("a name can only be renewed until some time");
    return {
      ...{ will_renew, base_ex_date, renewed_until, ex_date: exDate },
      ...(to === "Renewed" && { term_note: renewed_until?.toISOString() }),
      ...(to === "Ended" && { term_note: reason, ended_for: reason }),
    };
  },

  alarms(renewal, { event, reason, alarm }, to, now) {
    const { domain_name: subject, registry_id } = renewal;
    const changes: AlarmChange[] = [];
    if (event === "out-of-credit") {
      const note = `renewals wait for credit at ${registry_id}: ${reason}`;
      changes.push({ kind: "renewal-credit", subject: registry_id, note });
    }
    // A delete costs nothing, so that it is accepted says nothing of the credit.
    const isAccepted = to === "Processing (verify: answered)" && event === "answered";
    if (isAccepted) changes.push({ kind: "renewal-credit", subject: registry_id });
    if (to === "Attention") changes.push({ kind: "renewal", subject, note: reason ?? event ?? "" });
    // It stays open until somebody has seen it.
    if (alarm !== undefined) changes.push({ kind: "renewal-dates", subject, note: alarm });
    // Once its term is over, a name that nobody wants still has to go.
    const isSettled = isRenewalOver(to as RenewalState) || (event === "not-wanted" && now < renewal.term_ends_at);
    if (isSettled) changes.push({ kind: "renewal", subject });
    return changes;
  },
};

export async function findRenewal({ database, clock }: ChangeContext, id: number): Promise<Renewal | undefined> {
  const [row] = await database.query(renewalById, { id, now: clock.now() });
  return row && { ...row, attempts: parseAttempts(row.attempts), unwritten: [] };
}

const moveRenewal = statement(
  "renewal-move-step",
  `WITH moved AS (UPDATE renewals SET next_step_at = $at WHERE id = $id AND ended_at IS NULL RETURNING registry_id)
   ${wakeAll("renewal", "moved")}`,
  { told: "int8" },
);

/** Wakes a renewal: it takes its next step at another time than it meant to, e.g. now. */
export async function rescheduleRenewal(tx: Pick<Transaction, "query">, id: number, at: Date): Promise<void> {
  await tx.query(moveRenewal, { id, at });
}
