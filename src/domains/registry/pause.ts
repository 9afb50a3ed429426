/** New registrations at a registry stop while only an operator can help, or because one wants that. */
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { wakeOrders } from "#queue/enqueue.ts";

type PauseContext = Pick<Context, "database" | "clock" | "log">;

type PauseCause = "credit" | "configuration" | "operator";

/** Of a row of `registries`; false or null for other causes and without a pause. */
export const isPausedForCredit = "registries.creates_paused_reason LIKE 'credit:%'";

// A pause that needs the operator is not replaced by one that ends by itself, as soon as there is credit.
const setPause = statement(
  "registry-pause",
  `INSERT INTO registries (id, creates_paused_reason, updated_at) VALUES ($1, $2, $3)
   ON CONFLICT (id) DO UPDATE SET updated_at = excluded.updated_at,
     creates_paused_reason = CASE WHEN $4 OR registries.creates_paused_reason IS NULL OR ${isPausedForCredit}
       THEN excluded.creates_paused_reason ELSE registries.creates_paused_reason END`,
  {},
);

const pauseThatStops = `SELECT id FROM registries WHERE id = $1 AND NOT ${isPausedForCredit}`;
const findPause = statement("registry-paused", pauseThatStops, { id: "text" });

// Whoever resumes creates waits for this, and sees the order waiting.
const holdPause = statement("registry-paused-hold", `${pauseThatStops} FOR SHARE`, { id: "text" });

const isPaused = statement(
  "registry-paused-for",
  "SELECT id FROM registries WHERE id = $1 AND creates_paused_reason LIKE $2",
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
  `UPDATE registration_orders SET next_step_at = NULL
   WHERE registry_id = $1 AND status = 'Processing' AND phase = 'waiting'
     AND ($2::timestamptz IS NULL OR updated_at < $2) RETURNING id`,
  { id: "int8" },
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

/** Whether accepted orders wait too. Without credit they try from time to time, so that credit is noticed. */
export async function areCreatesStopped(context: PauseContext, registryId: string): Promise<boolean> {
  return (await context.database.query(findPause, [registryId])).length > 0;
}

/** The same, and they stay so until the transaction ends. */
export async function holdCreatesStopped(tx: Transaction, registryId: string): Promise<boolean> {
  return (await tx.query(holdPause, [registryId])).length > 0;
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
  // Asked after every create: nearly always there is none.
  if ((await context.database.query(isPaused, [registryId, pattern])).length === 0) return false;
  return context.database.transaction(async (tx) => {
    const [resumed] = await tx.query(clearPause, [registryId, pattern, context.clock.now()]);
    if (!resumed) return false;
    await resolveAlarm(context, { kind: "creates-paused", subject: registryId }, tx);
    const refusedBefore = cause === "credit" ? new Date(context.clock.now().getTime() - refusedMsMin) : null;
    await wakeOrders(tx, registryId, await tx.query(endWaits, [registryId, refusedBefore]));
    return true;
  });
}
