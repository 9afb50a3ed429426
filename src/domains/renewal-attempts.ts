/** The commands of renewals: each is written down before it is sent, and stays open until it is known what it did. */
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { lockName, type Renewal, RenewalChanged, type RenewalContext } from "#domains/renewals.ts";
import type { AttemptResult } from "#domains/send-once.ts";

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

/** Its commands that may have reached the registry, and when the last of all was about to. */
export async function readRenewalAttempts(context: RenewalContext, renewalId: number) {
  const [found] = await context.database.query(attempts, [renewalId]);
  if (!found) throw new Error("the attempts query returned no row");
  return found;
}

/**
 * Commits an attempt row, which must stand before the first byte of its command is written.
 * @returns the clTRID to send: `<renewal_code>-<n>`, never used before
 * @throws RenewalChanged when the wish has changed meanwhile, or a command is without an answer
 */
export async function beginRenewalAttempt(context: RenewalContext, renewal: Renewal, command: string): Promise<string> {
  return context.database.transaction(async (tx) => {
    const { id, renewal_code, status, phase } = renewal;
    if ((await lockName(tx, renewal)) !== renewal.will_renew) throw new RenewalChanged();
    const values = [id, renewal_code, command, context.clock.now(), status, phase];
    const [attempt] = await tx.query(insertAttempt, values);
    if (!attempt) throw new RenewalChanged();
    return attempt.cl_trid;
  });
}

export async function answerRenewalAttempt(tx: Transaction, attempt: AttemptResult, now: Date): Promise<void> {
  const { clTrid, resultCode, svTrid, isClosed } = attempt;
  await tx.query(answerAttempt, [clTrid, resultCode, svTrid, isClosed ? now : null]);
}

/** Once the registry has shown what became of the name, nothing is "possibly sent" any more. */
export async function closeRenewalAttempts(tx: Transaction, renewalId: number, now: Date): Promise<void> {
  await tx.query(closeAttempts, [renewalId, now]);
}
