/** Orders about registered names in the database: how to read them, and what writing one adds to writing any change. */
import { statement } from "#db/statement.ts";
import { authCodeEffects } from "#domains/kinds/auth-code/rows.ts";
import {
  type AlarmChange,
  attentionLookMs,
  type ChangeContext,
  type ChangeTable,
  type Outcome,
  type StepCopy,
} from "#domains/orders/change.ts";
import { type ChangeEvent, type ChangeState, changePhases, changeStates } from "#domains/orders/change-states.ts";
import { wake } from "#domains/orders/due.ts";
import { orderStatuses } from "#domains/orders/states.ts";
import { createWriter } from "#domains/orders/write.ts";
import { type Departure, leavePortfolio, returnToPortfolio } from "#domains/portfolio/rows.ts";
import { type ShownDomain, takeShown } from "#domains/portfolio/shown.ts";
import { attemptsOf, parseAttempts } from "#domains/registry/ask.ts";

/** The names of the kinds, as `GET /orders` shows them; a registration's is `create`. */
export const changeKinds = [
  "auth-code",
  "contacts",
  "delete",
  "dnssec",
  "nameservers",
  "renew",
  "restore",
  "transfer-answer",
  "transfer-lock",
] as const;
export type ChangeKindName = (typeof changeKinds)[number];

/** The context under which an order's secret is sealed: it opens in no other row, except that of the auth code that it set. */
export const changeSecretRow = (changeCode: string) => `changes.secret/${changeCode}`;

const columns = {
  id: "int8",
  version: "int8",
  change_code: "text",
  reseller_id: "int8",
  domain_name: "text",
  registry_id: "text",
  kind: changeKinds,
  input: "jsonb",
  found: "jsonb",
  secret_sealed: "bytea?",
  is_urgent: "bool",
  status: orderStatuses,
  phase: [...changePhases, null],
  verify_cause: ["answered", "lost", null],
  confirm_after: "timestamptz?",
  backoff_count: "int4",
  disputes: "int4",
  waiting_since: "timestamptz?",
  next_step_at: "timestamptz?",
  created_at: "timestamptz",
  reason: "text?",
  operator_note: "text?",
  settle_as: ["done", "failed", null],
  settle_note: "text?",
  /** The term for which the schedule has placed it. */
  renewal_id: "int8?",
} as const;

const changeById = statement(
  "change-by-id",
  `SELECT ${Object.keys(columns).map((column) => `change.${column}`)},
     CASE WHEN maintenance_from <= $now::timestamptz AND maintenance_until > $now THEN maintenance_until END AS maintenance_until,
     name.domain_name IS NOT NULL AS is_in_portfolio, name.expiration_date, name.registry_ex_date,
     name.gone_since,
     ${attemptsOf("change_id", "change.id")} AS attempts
   FROM changes AS change LEFT JOIN registries AS registry ON registry.id = change.registry_id
     LEFT JOIN domains AS name ON name.domain_name = change.domain_name AND name.reseller_id = change.reseller_id
   WHERE change.id = $id`,
  {
    ...columns,
    /** Whether the name belongs to the reseller who has ordered it. */
    is_in_portfolio: "bool",
    expiration_date: "timestamptz?",
    registry_ex_date: "timestamptz?",
    /** When the registry first showed that the name is not ours any more. */
    gone_since: "timestamptz?",
    /** The end of the registry's maintenance, during maintenance. */
    maintenance_until: "timestamptz?",
    attempts: "jsonb",
  },
);
type StoredChange = NonNullable<(typeof changeById)["row"]>;

export interface ChangeOrder extends StepCopy<StoredChange> {
  /** What the registry showed in this step; it is not stored with the order. */
  shown?: ShownDomain | undefined;
}

/** What the end of an order writes besides the order and what `<info>` showed. */
export interface ChangeEnd {
  /** The end of the name's new term. */
  renewedUntil?: Date;
  /** How the name has left the portfolio. */
  departure?: Departure;
  /** The dates of a name that comes back to the portfolio. */
  returned?: { registeredAt: Date; expiresAt: Date };
  /** What the reseller can do now: `next` of the order. */
  next?: string;
  /** The note of an alarm about dates. */
  alarm?: string;
}

/** The outcome of a step, with everything that is written with it. */
export interface ChangeOutcome extends Outcome<ChangeEvent> {
  /** What `<info>` showed: the domain's row takes it over. */
  shown?: ShownDomain | undefined;
  /** Only when it is done. */
  end?: ChangeEnd | undefined;
  /** The registry refused the command in a way that a fresh `<info>` may explain. */
  isDispute?: boolean;
}

const changeWriter = createWriter({
  table: "changes",
  name: "change",
  columns: `found jsonb, disputes int4, waiting_since timestamptz, operator_note text, settle_as text,
    settle_note text`,
  values: `renewal_id int8, shown jsonb, renewed_until timestamptz, left_as text, restorable_until timestamptz, registered_at timestamptz,
    expires_at timestamptz`,
  // Every change of a name locks the name's row first, so that none deadlocks with another. A name that left has none.
  lock: [
    `names AS MATERIALIZED (
     SELECT domain_name, reseller_id FROM domains WHERE domain_name = ANY (ARRAY(
       SELECT domain_name FROM changes WHERE id = ANY (ARRAY(
         SELECT id FROM jsonb_to_recordset($items::jsonb) AS item(id int8))))) ORDER BY domain_name FOR UPDATE),
   `,
    "LEFT JOIN names ON names.domain_name = row.domain_name",
  ],
  // A lost command about a host or a contact may still be executed, too.
  beginGuard: "NOT EXISTS (SELECT FROM attempts AS open WHERE open.change_id = row.id AND open.answered_at IS NULL)",
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
       THEN interval '${attentionLookMs / 1_000} s' ELSE interval '0' END FROM written
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
    // begun may wait for its next try: two that fail do not wake each other.
    `followers AS (
     UPDATE changes AS follower SET next_step_at = written.at FROM written
     WHERE follower.domain_name = written.domain_name AND follower.id <> written.id AND follower.ended_at IS NULL
       AND (written.is_over AND (follower.status = 'NotProvisioned' OR follower.phase = 'send')
         OR follower.status = 'NotProvisioned' AND written.events <> '[]' AND written.command IS NULL
           AND written.phase IS DISTINCT FROM 'verify' AND written.next_step_at > written.at)
     RETURNING written.id AS followed)`,
  ],
  signal: `concat(CASE WHEN events <> '[]' THEN pg_notify('order_changed', code)::text END,
     CASE WHEN is_over OR id IN (SELECT followed FROM followers) THEN ${wake("change", "registry_id")}::text END,
     (SELECT ${wake("renewal", "schedule.registry_id")}::text FROM schedule WHERE schedule.id = written.renewal_id))`,
});

/** The registry took a command: the order's next command gets all the time again. */
const takenEvents = new Set<ChangeEvent | undefined>(["prepared", "answered", "pending"]);

/** Since when every try has failed. */
function waitingSince(
  { waiting_since: since }: ChangeOrder,
  { event, countsAsFailure }: ChangeOutcome,
  now: Date,
): Date | null {
  if (countsAsFailure) return since ?? now;
  return takenEvents.has(event) ? null : since;
}

export const changeTable: ChangeTable<ChangeOrder, ChangeOutcome> = {
  states: changeStates,
  writer: changeWriter,
  find: findChange,
  // These are steps of the next attempt.
  keepsBackoff: new Set<ChangeEvent>(["prepared", "next", "pending", "unanswered"]),

  after: (order, outcome, _to, now) => ({
    found: outcome.end?.next === undefined ? order.found : { ...(order.found as object), next: outcome.end.next },
    disputes: order.disputes + (outcome.isDispute ? 1 : 0),
    waiting_since: waitingSince(order, outcome, now),
    // An event that is written with the next one neither raises nor resolves an alarm.
    operator_note: outcome.operatorNote ?? (outcome.isFree ? order.operator_note : null),
  }),

  values: ({ renewal_id }, { shown, end }) => ({
    renewal_id,
    shown: shown ? withNewTerm(shown, end) : null,
    renewed_until: end?.renewedUntil,
    left_as: end?.departure?.reason,
    restorable_until: end?.departure?.restorableUntil,
    registered_at: end?.returned?.registeredAt,
    expires_at: end?.returned?.expiresAt,
  }),

  alarms(order, outcome, to): AlarmChange[] {
    const { domain_name: subject } = order;
    const { end } = outcome;
    const changes = order.renewal_id === null ? alarmsAsOrder(order, outcome) : alarmsOfSchedule(order, outcome);
    // This alarm stays open until an operator resolves it.
    if (end?.alarm !== undefined) changes.push({ kind: "renewal-dates", subject, note: end.alarm });
    // The name's renewal has waited for it.
    if (order.status === "Pending" && changeStates.isFinal(to as ChangeState)) {
      changes.push({ kind: "renewal-held", subject });
    }
    // An alarm about the renewal that has ended with this order.
    if (end?.renewedUntil || end?.departure) changes.push({ kind: "renewal", subject });
    return changes;
  },
};

/** The alarm stays open until an outcome needs no operator. */
function alarmsAsOrder(order: ChangeOrder, { operatorNote: note }: ChangeOutcome): AlarmChange[] {
  const alarm = { kind: "order", subject: order.change_code } as const;
  if (note !== undefined) return [{ ...alarm, note }];
  return order.operator_note === null ? [] : [alarm];
}

/** About the name, until its term is over one way or the other; and about the registry, while it refuses renewals. */
function alarmsOfSchedule(order: ChangeOrder, { event, reason, operatorNote: note }: ChangeOutcome): AlarmChange[] {
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

/** Where the registry shows no dates, the end of the new term is its date, too. */
function withNewTerm(shown: ShownDomain, end: ChangeEnd | undefined): ShownDomain {
  if (shown.ex_date !== null || !end?.renewedUntil) return shown;
  return { ...shown, ex_date: end.renewedUntil.toISOString() };
}

export async function findChange({ database, clock }: ChangeContext, id: number): Promise<ChangeOrder | undefined> {
  const [row] = await database.query(changeById, { id, now: clock.now() });
  return row && { ...row, attempts: parseAttempts(row.attempts), unwritten: [] };
}
