/** The commands of renewals: each is written down before it is sent, and stays open until it is known what it did. */
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { mayBegin } from "#domains/registry/owner-lease.ts";
import type { AttemptResult } from "#domains/registry/send-once.ts";
import type { OwnerContext } from "#domains/registry/sessions.ts";
import { type Renewal, refuseRenewal } from "#domains/renewals/renewals.ts";

// One statement, so that a process that is stopped in the middle of it cannot commit it when it goes on, much later. It inserts
// nothing while an attempt is unanswered, and nothing when another owner has inserted the same number meanwhile: not even two
// owners at once can have two under way.
const insertAttempt = statement(
  "renewal-attempt-insert",
  `WITH wished AS (
     SELECT will_renew FROM domains WHERE domain_name = $8 AND renewal_id = $1 AND will_renew = $9 FOR UPDATE)
   INSERT INTO renewal_attempts (cl_trid, renewal_id, number, command, committed_at, epoch)
   SELECT $2 || '-' || next.number, $1, next.number, $3, $4, $7::int8
   FROM wished, renewals, (
     SELECT coalesce(max(number), 0) + 1 AS number, count(*) FILTER (WHERE answered_at IS NULL) AS unanswered
     FROM renewal_attempts WHERE renewal_id = $1) AS next
   WHERE next.unanswered = 0 AND renewals.id = $1 AND renewals.status = $5 AND renewals.phase IS NOT DISTINCT FROM $6
     AND ${mayBegin("renewals.registry_id", "$7::int8")}
   ON CONFLICT DO NOTHING RETURNING cl_trid`,
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

// One of a version without epochs counts as an earlier owner's.
const attempts = statement(
  "renewal-attempts",
  `SELECT count(*) FILTER (WHERE answered_at IS NULL) AS unanswered, max(committed_at) AS last_at,
     count(*) FILTER (WHERE answered_at IS NULL AND epoch IS DISTINCT FROM $2) AS of_earlier_owners,
     max(committed_at) FILTER (WHERE command = 'domain:renew' AND result_code IS NULL) AS last_lost_renew_at
   FROM renewal_attempts WHERE renewal_id = $1`,
  { unanswered: "int8", last_at: "timestamptz?", of_earlier_owners: "int8", last_lost_renew_at: "timestamptz?" },
);

/**
 * Its commands that may have reached the registry, how many of them owners before this one have sent, and when the last of all
 * was about to, and the last renew of which no answer is known.
 */
export async function readRenewalAttempts({ database, lease }: OwnerContext, renewalId: number) {
  const [found] = await database.query(attempts, [renewalId, lease.epoch]);
  if (!found) throw new Error("the attempts query returned no row");
  return found;
}

/**
 * Commits an attempt row, which must stand before the first byte of its command is written.
 * @returns the clTRID to send: `<renewal_code>-<n>`, never used before
 * @throws RenewalChanged when the wish has changed meanwhile, or a command is without an answer
 * @throws LeaseLost when this process does not own the registry any more
 */
export async function beginRenewalAttempt(context: OwnerContext, renewal: Renewal, command: string): Promise<string> {
  const { id, renewal_code: code, status, phase, domain_name: name, will_renew: isWanted } = renewal;
  const values = [id, code, command, context.clock.now(), status, phase, context.lease.epoch, name, isWanted];
  const [attempt] = await context.database.query(insertAttempt, values);
  return attempt ? attempt.cl_trid : refuseRenewal(context, context.database);
}

export async function answerRenewalAttempt(tx: Transaction, attempt: AttemptResult, now: Date): Promise<void> {
  const { clTrid, resultCode, svTrid, isClosed } = attempt;
  await tx.query(answerAttempt, [clTrid, resultCode, svTrid, isClosed ? now : null]);
}

/** Once the registry has shown what became of the name, nothing is "possibly sent" any more. */
export async function closeRenewalAttempts(tx: Transaction, renewalId: number, now: Date): Promise<void> {
  await tx.query(closeAttempts, [renewalId, now]);
}
