/** The one way in which a renewal's state changes. */
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { isPresentEpoch } from "#domains/registry/owner-lease.ts";
import type { AttemptResult } from "#domains/registry/send-once.ts";
import { answerRenewalAttempt, closeRenewalAttempts } from "#domains/renewals/attempts.ts";
import {
  lockName,
  type Renewal,
  RenewalChanged,
  type RenewalContext,
  refuseRenewal,
} from "#domains/renewals/renewals.ts";
import {
  isRenewalOver,
  nextRenewalState,
  type RenewalEvent,
  type RenewalState,
  renewalColumns,
  renewalState,
} from "#domains/renewals/states.ts";
import { writeDomainHistory } from "#domains/renewals/switch.ts";
import { enqueueRenewal } from "#queue/enqueue.ts";

// Whoever wakes a renewal sets another time for it. What was found out is asked again then, and after a command's answer the
// time that comes first counts; but after a lost one nothing is believed before its time. Our dates have milliseconds. An owner
// whose epoch is over decides nothing more.
const isAsRead = "date_trunc('milliseconds', next_step_at) = $15";
const updateRenewal = statement(
  "renewal-update",
  `UPDATE renewals SET status = $5, phase = $6, verify_cause = $7, updated_at = $8,
     ended_at = CASE WHEN $5 IN ('Renewed', 'Ended') THEN $8::timestamptz END,
     next_step_at = CASE WHEN $16 OR ${isAsRead} THEN $9 ELSE least(next_step_at, $9) END, backoff_count = $10,
     confirm_after = $11, base_ex_date = coalesce($12, base_ex_date), renewed_until = $13, reason = coalesce($14, reason)
   WHERE id = $1 AND status = $2 AND phase IS NOT DISTINCT FROM $3 AND verify_cause IS NOT DISTINCT FROM $4
     AND ($17 OR ${isAsRead})
     AND ($18::int8 IS NULL OR ${isPresentEpoch("renewals.registry_id", "$18")})
   RETURNING next_step_at`,
  { next_step_at: "timestamptz" },
);

const insertHistory = statement(
  "renewal-history-insert",
  "INSERT INTO renewal_history (renewal_id, at, event, status, phase, note) VALUES ($1, $2, $3, $4, $5, $6)",
  {},
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

/** Something that happened to a renewal, with everything that is written together with it. */
export interface RenewalHappening {
  event: RenewalEvent;
  /** When the next step is due; without it the next step follows at once. */
  nextStepAt?: Date | undefined;
  attempt?: AttemptResult | undefined;
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

/** They are steps of the next try; whether that one fails too is not known yet, so the backoff goes on growing. */
const retryingEvents = new Set<RenewalEvent>(["renewable", "resumed", "pending", "unanswered"]);

/**
 * Lets something happen to a renewal: new state, history, the name and the next job in one transaction.
 * @returns whether its next step comes later, as a job; otherwise it follows at once
 * @throws RenewalChanged when it is not in the state any more in which it was read, the wish has changed, or it was woken
 * @throws LeaseLost when this process does not own the registry any more; what a command was answered stands all the same
 */
export async function happenToRenewal(
  context: RenewalContext,
  tx: Transaction,
  renewal: Renewal,
  happening: RenewalHappening,
): Promise<boolean> {
  const transition = nextRenewalState(renewalState(renewal), happening.event);
  if (!transition) throw new Error(`a renewal in ${renewalState(renewal)} has no transition for ${happening.event}`);
  const { id, status, phase, verify_cause, backoff_count } = renewal;
  const isWanted = await lockName(tx, renewal);
  // A question can be asked again, and means another thing now; what a command was answered stands.
  if (isWanted !== renewal.will_renew && !happening.attempt) throw new RenewalChanged();
  const now = context.clock.now();
  const next = renewalColumns(transition.to);
  const keepsCount = happening.countsAsFailure || retryingEvents.has(happening.event);
  const failures = backoff_count + (happening.countsAsFailure ? 1 : 0);
  const [updated] = await tx.query(updateRenewal, [
    ...[id, status, phase, verify_cause, next.status, next.phase, next.verify_cause, now, happening.nextStepAt ?? now],
    ...[keepsCount ? failures : 0, happening.confirmAfter ?? null, happening.baseExDate ?? null],
    ...[happening.renewedUntil ?? null, happening.reason ?? null],
    ...[renewal.next_step_at, happening.event === "unanswered", happening.attempt !== undefined],
    // What a command was answered is true whoever writes it down, and comes only once.
    happening.attempt ? null : (context.lease?.epoch ?? null),
  ]);
  if (!updated) return refuseRenewal(context, tx);
  if (happening.attempt) await answerRenewalAttempt(tx, happening.attempt, now);
  if (phase === "verify" && next.phase !== "verify") await closeRenewalAttempts(tx, id, now);
  const values = [id, now, happening.event, next.status, next.phase, happening.reason ?? null];
  await tx.query(insertHistory, values);
  await changeName(tx, renewal, happening, transition.to, now);
  await tellOperator(context, tx, renewal, happening, transition.to);
  const delayMs = updated.next_step_at.getTime() - now.getTime();
  if (delayMs > 0) await enqueueRenewal(tx, { id, registryId: renewal.registry_id }, delayMs);
  return delayMs > 0;
}

async function changeName(
  tx: Transaction,
  { domain_name }: Renewal,
  { exDate, renewedUntil, reason }: RenewalHappening,
  to: RenewalState,
  now: Date,
): Promise<void> {
  if (exDate) await tx.query(seeExDate, [domain_name, exDate]);
  if (to === "Renewed") {
    if (!renewedUntil) throw new Error("a name can only be renewed until some time");
    await tx.query(extendDomain, [domain_name, renewedUntil]);
    await writeDomainHistory(tx, domain_name, { at: now, event: "renewed", note: renewedUntil.toISOString() });
  }
  if (to === "Ended") {
    await writeDomainHistory(tx, domain_name, { at: now, event: "ended", note: reason });
    await tx.query(endDomain, [domain_name, now, reason ?? null]);
  }
}

async function tellOperator(
  context: RenewalContext,
  tx: Transaction,
  { domain_name, registry_id, term_ends_at: termEndsAt }: Renewal,
  { event, reason, alarm }: RenewalHappening,
  to: RenewalState,
): Promise<void> {
  const subject = domain_name;
  if (event === "out-of-credit") {
    const note = `renewals wait for credit at ${registry_id}: ${reason}`;
    await raiseAlarm(context, { kind: "renewal-credit", subject: registry_id, note }, tx);
  }
  // A delete costs nothing, so that it is accepted says nothing of the credit.
  const isAccepted = to === "Processing (verify: answered)" && event === "answered";
  if (isAccepted) await resolveAlarm(context, { kind: "renewal-credit", subject: registry_id }, tx);
  if (to === "Attention") await raiseAlarm(context, { kind: "renewal", subject, note: reason ?? event }, tx);
  // It stays open until somebody has seen it.
  if (alarm !== undefined) await raiseAlarm(context, { kind: "renewal-dates", subject, note: alarm }, tx);
  // Once its term is over, a name that nobody wants still has to go.
  const isSettled = isRenewalOver(to) || (event === "not-wanted" && context.clock.now() < termEndsAt);
  if (isSettled) await resolveAlarm(context, { kind: "renewal", subject }, tx);
}
