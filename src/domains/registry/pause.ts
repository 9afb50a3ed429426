/** New registrations at a registry stop while only an operator can help, or because one wants that. */
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { wakeAll } from "#domains/changes/due.ts";

type PauseContext = Pick<Context, "database" | "clock" | "log">;

type PauseCause = "credit" | "configuration" | "operator";

/** SQL: of a row of `registries`, by its name there; false or null for other causes and without a pause. */
export const isPausedForCredit = (registry: string) => `${registry}.creates_paused_reason LIKE 'credit:%'`;

// A pause that needs the operator is not replaced by one that ends by itself, as soon as there is credit.
const setPause = statement(
  "registry-pause",
  `INSERT INTO registries (id, creates_paused_reason, updated_at) VALUES ($1, $2, $3)
   ON CONFLICT (id) DO UPDATE SET updated_at = excluded.updated_at,
     creates_paused_reason = CASE WHEN $4 OR registries.creates_paused_reason IS NULL OR ${isPausedForCredit("registries")}
       THEN excluded.creates_paused_reason ELSE registries.creates_paused_reason END`,
  {},
);

// Whoever resumes creates waits for this, and sees the order waiting.
const holdPause = statement(
  "registry-paused-hold",
  `SELECT id FROM registries WHERE id = $registry_id AND NOT ${isPausedForCredit("registries")} FOR SHARE`,
  { id: "text" },
);

const clearPause = statement(
  "registry-resume",
  `UPDATE registries SET creates_paused_reason = NULL, updated_at = $3
   WHERE id = $1 AND creates_paused_reason LIKE $2 RETURNING id`,
  { id: "text" },
);

/** Credit for one name may not be enough for another: one that has just been refused would be so again, after each create. */
const refusedMsMin = 5 * 60_000;

// What waits has no command under way, so its delay may be cut short.
const endWaits = statement(
  "orders-after-pause",
  `WITH woken AS (
     UPDATE registration_orders SET next_step_at = $now WHERE id IN (
       SELECT id FROM registration_orders
       WHERE registry_id = $registry_id AND ended_at IS NULL AND status = 'Processing' AND phase = 'waiting'
         AND ($refused_before::timestamptz IS NULL OR updated_at < $refused_before) ORDER BY id FOR UPDATE)
     RETURNING registry_id)
   ${wakeAll("order", "woken")}`,
  { told: "int8" },
);

export async function pauseCreates(
  context: PauseContext,
  registryId: string,
  cause: PauseCause,
  reason: string,
): Promise<void> {
  const note = `${cause}: ${reason}`;
  const isOperators = cause === "operator";
  await context.database.transaction(async (tx) => {
    await tx.query(setPause, [registryId, note, context.clock.now(), isOperators]);
    if (!isOperators) await raiseAlarm(context, { kind: "creates-paused", subject: registryId, note }, tx);
  });
}

/**
 * Whether accepted orders wait too, and will until the transaction ends. Without credit they try from time to time, so that
 * credit is noticed.
 */
export async function holdCreatesStopped(tx: Transaction, registryId: string): Promise<boolean> {
  return (await tx.query(holdPause, { registry_id: registryId })).length > 0;
}

/**
 * Ends a pause with this cause, or with any for "any", and lets waiting orders go on; after a lack of credit those that have
 * not just been refused. Returns whether there was one.
 */
export async function resumeCreatesPausedFor(
  context: PauseContext,
  registryId: string,
  cause: PauseCause | "any",
): Promise<boolean> {
  const pattern = cause === "any" ? "%" : `${cause}:%`;
  return context.database.transaction(async (tx) => {
    const [resumed] = await tx.query(clearPause, [registryId, pattern, context.clock.now()]);
    if (!resumed) return false;
    await resolveAlarm(context, { kind: "creates-paused", subject: registryId }, tx);
    const now = context.clock.now();
    const refusedBefore = cause === "credit" ? new Date(now.getTime() - refusedMsMin) : null;
    await tx.query(endWaits, { registry_id: registryId, refused_before: refusedBefore, now });
    return true;
  });
}
