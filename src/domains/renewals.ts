/** Renewals in the database: their rows, their attempts, and the one way in which their state changes. */
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { raiseAlarm, resolveAlarm } from "#domains/alarms.ts";
import {
  isRenewalOver,
  nextRenewalState,
  type RenewalEvent,
  type RenewalState,
  renewalColumns,
  renewalState,
} from "#domains/renewal-states.ts";
import { enqueueRenewal } from "#jobs/enqueue.ts";

/** An operator's command has no more. */
export type RenewalContext = Pick<Context, "database" | "clock" | "log">;

// Without the name in its portfolio, or with it in its next term, there is nothing to do any more.
const renewalById = statement(
  "renewal-by-id",
  `SELECT r.id, renewal_code, r.reseller_id, r.domain_name, r.registry_id, period_years, term_ends_at, due_at,
     base_ex_date, r.status, phase, verify_cause, confirm_after, backoff_count, next_step_at, r.updated_at,
     will_renew, registry_ex_date
   FROM renewals AS r JOIN domains ON domains.renewal_id = r.id WHERE r.id = $1 AND ended_at IS NULL`,
  {
    id: "int8",
    renewal_code: "text",
    reseller_id: "int8",
    domain_name: "text",
    registry_id: "text",
    period_years: "int4",
    term_ends_at: "timestamptz",
    due_at: "timestamptz",
    base_ex_date: "timestamptz?",
    status: "text",
    phase: "text?",
    verify_cause: "text?",
    confirm_after: "timestamptz?",
    backoff_count: "int4",
    next_step_at: "timestamptz",
    updated_at: "timestamptz",
    will_renew: "bool",
    registry_ex_date: "timestamptz",
  },
);

export type Renewal = NonNullable<(typeof renewalById)["row"]>;

// Whoever changes a name or its renewal holds the name's row first: so they cannot wait for each other.
const lockName = statement(
  "renewal-lock-name",
  "SELECT will_renew FROM domains WHERE domain_name = $1 AND renewal_id = $2 FOR UPDATE",
  { will_renew: "bool" },
);

const updateRenewal = statement(
  "renewal-update",
  `UPDATE renewals SET status = $5, phase = $6, verify_cause = $7, updated_at = $8,
     ended_at = CASE WHEN $5 IN ('Renewed', 'Ended') THEN $8::timestamptz END, next_step_at = $9, backoff_count = $10,
     confirm_after = $11, base_ex_date = coalesce($12, base_ex_date), renewed_until = $13, reason = coalesce($14, reason)
   WHERE id = $1 AND status = $2 AND phase IS NOT DISTINCT FROM $3 AND verify_cause IS NOT DISTINCT FROM $4
   RETURNING id`,
  { id: "int8" },
);

const insertHistory = statement(
  "renewal-history-insert",
  "INSERT INTO renewal_history (renewal_id, at, event, status, phase, note) VALUES ($1, $2, $3, $4, $5, $6)",
  {},
);

const insertDomainHistory = statement(
  "domain-history-insert",
  "INSERT INTO domain_history (domain_name, reseller_id, at, event, note) VALUES ($1, $2, $3, $4, $5)",
  {},
);

// Inserts nothing while an attempt is unanswered: not even two owners at once can have two under way.
const insertAttempt = statement(
  "renewal-attempt-insert",
  `INSERT INTO renewal_attempts (cl_trid, renewal_id, number, command, committed_at)
   SELECT $2 || '-' || next.number, $1, next.number, $3, $4
   FROM (SELECT coalesce(max(number), 0) + 1 AS number, count(*) FILTER (WHERE answered_at IS NULL) AS unanswered
         FROM renewal_attempts WHERE renewal_id = $1) AS next
   WHERE next.unanswered = 0
     AND EXISTS (SELECT FROM renewals WHERE id = $1 AND status = $5 AND phase IS NOT DISTINCT FROM $6)
   RETURNING cl_trid`,
  { cl_trid: "text" },
);

const answerAttempt = statement(
  "renewal-attempt-answer",
  "UPDATE renewal_attempts SET result_code = $2, sv_trid = $3, answered_at = $4 WHERE cl_trid = $1",
  {},
);

const closeAttempts = statement(
  "renewal-attempts-close",
  "UPDATE renewal_attempts SET answered_at = $2 WHERE renewal_id = $1 AND answered_at IS NULL",
  {},
);

const attempts = statement(
  "renewal-attempts",
  `SELECT count(*) FILTER (WHERE answered_at IS NULL) AS unanswered, max(committed_at) AS last_at
   FROM renewal_attempts WHERE renewal_id = $1`,
  { unanswered: "int8", last_at: "timestamptz?" },
);

const seeExDate = statement(
  "domain-registry-date",
  "UPDATE domains SET registry_ex_date = $2 WHERE domain_name = $1 AND registry_ex_date <> $2",
  {},
);

const extendDomain = statement(
  "domain-renewed",
  "UPDATE domains SET expiration_date = $2, renewal_id = NULL WHERE domain_name = $1",
  {},
);

const endDomain = statement(
  "domain-ended",
  `WITH gone AS (
     DELETE FROM domains WHERE domain_name = $1 RETURNING domain_name, reseller_id, order_id, renewal_id, registry_id,
       registration_date, expiration_date, registry_ex_date)
   INSERT INTO domains_ended (domain_name, reseller_id, order_id, renewal_id, registry_id, registration_date,
     expiration_date, registry_ex_date, ended_at, reason)
   SELECT domain_name, reseller_id, order_id, renewal_id, registry_id, registration_date, expiration_date,
     registry_ex_date, $2, $3 FROM gone`,
  {},
);

export async function findRenewal(context: RenewalContext, renewalId: number): Promise<Renewal | undefined> {
  const [renewal] = await context.database.query(renewalById, [renewalId]);
  return renewal;
}

/** Its commands that may have reached the registry, and when the last of all was about to. */
export async function readRenewalAttempts(context: RenewalContext, renewalId: number) {
  const [found] = await context.database.query(attempts, [renewalId]);
  if (!found) throw new Error("the attempts query returned no row");
  return found;
}

/** The renewal, or what is wished for its name, is not what was read any more: read it again. */
export class RenewalChanged extends Error {}

/**
 * Commits an attempt row, which must stand before the first byte of its command is written.
 * @returns the clTRID to send: `<renewal_code>-<n>`, never used before
 * @throws RenewalChanged when the wish has changed meanwhile, or a command is without an answer
 */
export async function beginRenewalAttempt(context: RenewalContext, renewal: Renewal, command: string): Promise<string> {
  return context.database.transaction(async (tx) => {
    const { id, domain_name, renewal_code, status, phase } = renewal;
    const [name] = await tx.query(lockName, [domain_name, id]);
    if (name?.will_renew !== renewal.will_renew) throw new RenewalChanged();
    const values = [id, renewal_code, command, context.clock.now(), status, phase];
    const [attempt] = await tx.query(insertAttempt, values);
    if (!attempt) throw new RenewalChanged();
    return attempt.cl_trid;
  });
}

/** How a registry's answer, or its absence, ends an attempt. */
export interface RenewalAttempt {
  clTrid: string;
  resultCode: number | null;
  svTrid: string | null;
  /** False while the command may have been executed all the same. */
  isClosed: boolean;
}

/** Something that happened to a renewal, with everything that is written together with it. */
export interface RenewalHappening {
  event: RenewalEvent;
  /** When the next step is due; without it the next step follows at once. */
  nextStepAt?: Date | undefined;
  attempt?: RenewalAttempt | undefined;
  /** The registry's exDate, as info showed it. */
  exDate?: Date | undefined;
  /** What a renew of this term counts from. */
  baseExDate?: Date | undefined;
  /** The end of the new term, for a name that is renewed. */
  renewedUntil?: Date | undefined;
  confirmAfter?: Date | undefined;
  reason?: string | undefined;
  /** What the operator has to know, beyond what needs attention anyway. */
  alarm?: string | undefined;
  /** Counts a failure, for the backoff. */
  countsAsFailure?: boolean;
}

/** They begin the next try; whether that one fails too is not known yet, so the backoff goes on growing. */
const retryingEvents = new Set<RenewalEvent>(["renewable", "resumed"]);

/**
 * Lets something happen to a renewal: new state, history, the name and the next job in one transaction.
 * @throws RenewalChanged when it is not in the state any more in which it was read
 */
export async function happenToRenewal(
  context: RenewalContext,
  tx: Transaction,
  renewal: Renewal,
  happening: RenewalHappening,
): Promise<void> {
  const transition = nextRenewalState(renewalState(renewal), happening.event);
  if (!transition) throw new Error(`a renewal in ${renewalState(renewal)} has no transition for ${happening.event}`);
  const { id, domain_name, status, phase, verify_cause, backoff_count } = renewal;
  const [name] = await tx.query(lockName, [domain_name, id]);
  if (!name) throw new RenewalChanged();
  const now = context.clock.now();
  const next = renewalColumns(transition.to);
  const nextStepAt = happening.nextStepAt ?? now;
  const keepsCount = happening.countsAsFailure || retryingEvents.has(happening.event);
  const failures = backoff_count + (happening.countsAsFailure ? 1 : 0);
  const [updated] = await tx.query(updateRenewal, [
    ...[id, status, phase, verify_cause, next.status, next.phase, next.verify_cause, now, nextStepAt],
    ...[keepsCount ? failures : 0, happening.confirmAfter ?? null, happening.baseExDate ?? null],
    ...[happening.renewedUntil ?? null, happening.reason ?? null],
  ]);
  if (!updated) throw new RenewalChanged();
  await writeAttempt(tx, renewal, happening, transition.to, now);
  const values = [id, now, happening.event, next.status, next.phase, happening.reason ?? null];
  await tx.query(insertHistory, values);
  await changeName(tx, renewal, happening, transition.to, now);
  await tellOperator(context, tx, renewal, happening, transition.to);
  if (happening.nextStepAt) {
    await enqueueRenewal(tx, { id, registryId: renewal.registry_id }, nextStepAt.getTime() - now.getTime());
  }
}

async function writeAttempt(
  tx: Transaction,
  renewal: Renewal,
  { attempt }: RenewalHappening,
  to: RenewalState,
  now: Date,
): Promise<void> {
  if (attempt) {
    const { clTrid, resultCode, svTrid, isClosed } = attempt;
    await tx.query(answerAttempt, [clTrid, resultCode, svTrid, isClosed ? now : null]);
  }
  // Once the registry has shown what became of the name, nothing is "possibly sent" any more.
  const isSettled = renewal.phase === "verify" && renewalColumns(to).phase !== "verify";
  if (isSettled) await tx.query(closeAttempts, [renewal.id, now]);
}

async function changeName(
  tx: Transaction,
  { domain_name, reseller_id }: Renewal,
  { exDate, renewedUntil, reason }: RenewalHappening,
  to: RenewalState,
  now: Date,
): Promise<void> {
  if (exDate) await tx.query(seeExDate, [domain_name, exDate]);
  if (to === "Renewed") {
    if (!renewedUntil) throw new Error("a name can only be renewed until some time");
    await tx.query(extendDomain, [domain_name, renewedUntil]);
    await tx.query(insertDomainHistory, [domain_name, reseller_id, now, "renewed", renewedUntil.toISOString()]);
  }
  if (to === "Ended") {
    await tx.query(endDomain, [domain_name, now, reason ?? null]);
    await tx.query(insertDomainHistory, [domain_name, reseller_id, now, "ended", reason ?? null]);
  }
}

async function tellOperator(
  context: RenewalContext,
  tx: Transaction,
  { domain_name, registry_id }: Renewal,
  { event, reason, alarm }: RenewalHappening,
  to: RenewalState,
): Promise<void> {
  const subject = domain_name;
  if (event === "out-of-credit") {
    const note = `renewals wait for credit at ${registry_id}: ${reason}`;
    await raiseAlarm(context, { kind: "renewal-credit", subject: registry_id, note }, tx);
  }
  if (event === "answered") await resolveAlarm(context, { kind: "renewal-credit", subject: registry_id }, tx);
  if (to === "Attention") await raiseAlarm(context, { kind: "renewal", subject, note: reason ?? event }, tx);
  // It stays open until somebody has seen it.
  if (alarm !== undefined) await raiseAlarm(context, { kind: "renewal-dates", subject, note: alarm }, tx);
  const isSettled = isRenewalOver(to) || event === "not-wanted";
  if (isSettled) await resolveAlarm(context, { kind: "renewal", subject }, tx);
}

const postponeRenewal = statement(
  "renewal-postpone",
  "UPDATE renewals SET next_step_at = $2 WHERE id = $1 AND ended_at IS NULL RETURNING registry_id",
  { registry_id: "text" },
);

/** Lets a renewal take its next step at another time, e.g. now; nothing happened to it. */
export async function rescheduleRenewal(
  context: Pick<RenewalContext, "clock">,
  tx: Pick<Transaction, "query">,
  renewalId: number,
  nextStepAt: Date,
): Promise<void> {
  const [row] = await tx.query(postponeRenewal, [renewalId, nextStepAt]);
  if (!row) return;
  const delayMs = nextStepAt.getTime() - context.clock.now().getTime();
  await enqueueRenewal(tx, { id: renewalId, registryId: row.registry_id }, delayMs);
}
