/**
 * When a registry is sent less. New registrations are paused while only an operator can help, or because an operator asked for it.
 * Until the end of an announced maintenance, which the operator enters, new registrations are refused with its end as `retry-after`,
 * and accepted orders wait without counting failures.
 */
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { wakeAll } from "#domains/registry/sessions.ts";

type PauseContext = Pick<Context, "database" | "clock" | "log">;

type PauseCause = "credit" | "configuration" | "operator";

/** SQL: whether creates are paused for lack of credit; null without a pause. @param registry the name of a `registries` row */
export const isPausedForCredit = (registry: string) => `${registry}.creates_paused_reason LIKE 'credit:%'`;

// A pause that only an operator ends is not replaced by one that ends as soon as there is credit.
const setPause = statement(
  "registry-pause",
  `INSERT INTO registries (id, creates_paused_reason, updated_at) VALUES ($id, $note, $now)
   ON CONFLICT (id) DO UPDATE SET updated_at = excluded.updated_at,
     creates_paused_reason = CASE WHEN $by_operator OR registries.creates_paused_reason IS NULL OR ${isPausedForCredit("registries")}
       THEN excluded.creates_paused_reason ELSE registries.creates_paused_reason END`,
  {},
);

// `resumeCreatesPausedFor` waits for this lock, and then sees the order as waiting.
const holdPause = statement(
  "registry-paused-hold",
  `SELECT id FROM registries WHERE id = $registry_id AND NOT ${isPausedForCredit("registries")} FOR SHARE`,
  { id: "text" },
);

const clearPause = statement(
  "registry-resume",
  `UPDATE registries SET creates_paused_reason = NULL, updated_at = $now
   WHERE id = $id AND creates_paused_reason LIKE $pattern RETURNING id`,
  { id: "text" },
);

/** Credit for one name may not suffice for another: an order refused this recently would be refused again after each create. */
const refusedMsMin = 5 * 60_000;

// A registration that waits has no unanswered command about its name, so its delay may be cut short.
const endWaits = statement(
  "orders-after-pause",
  `WITH woken AS (
     UPDATE orders SET next_step_at = $now WHERE id IN (
       SELECT id FROM orders AS waiting
       WHERE registry_id = $registry_id AND lane = 'registration' AND ended_at IS NULL AND phase = 'send' AND next_step_at > $now
         AND NOT EXISTS (SELECT FROM attempts WHERE order_id = waiting.id AND answered_at IS NULL AND command LIKE 'domain:%')
         AND ($refused_before::timestamptz IS NULL OR updated_at < $refused_before) ORDER BY id FOR UPDATE)
     RETURNING lane, registry_id)
   ${wakeAll("woken")}`,
  { notified: "int8" },
);

export async function pauseCreates(
  context: PauseContext,
  registryId: string,
  cause: PauseCause,
  reason: string,
): Promise<void> {
  const note = `${cause}: ${reason}`;
  const byOperator = cause === "operator";
  await context.database.transaction(async (tx) => {
    await tx.query(setPause, { id: registryId, note, now: context.clock.now(), by_operator: byOperator });
    if (!byOperator) await raiseAlarm(context, { kind: "creates-paused", subject: registryId, note }, tx);
  });
}

/**
 * Whether accepted orders must wait too; that stays so until the transaction ends. Without credit they do not: they retry from
 * time to time, which is how credit is noticed.
 */
export async function holdCreatesStopped(tx: Transaction, registryId: string): Promise<boolean> {
  return (await tx.query(holdPause, { registry_id: registryId })).length > 0;
}

/**
 * Ends a pause with this cause, and makes waiting orders due; after a lack of credit only those that were not refused just now.
 * Returns whether there was such a pause.
 */
export async function resumeCreatesPausedFor(
  context: PauseContext,
  registryId: string,
  cause: PauseCause | "any",
): Promise<boolean> {
  const pattern = cause === "any" ? "%" : `${cause}:%`;
  const now = context.clock.now();
  return context.database.transaction(async (tx) => {
    const [resumed] = await tx.query(clearPause, { id: registryId, pattern, now });
    if (!resumed) return false;
    await resolveAlarm(context, { kind: "creates-paused", subject: registryId }, tx);
    const refusedBefore = cause === "credit" ? new Date(now.getTime() - refusedMsMin) : null;
    await tx.query(endWaits, { registry_id: registryId, refused_before: refusedBefore, now });
    return true;
  });
}

const updateMaintenance = statement(
  "registry-maintenance",
  `UPDATE registries SET maintenance_from = $from, maintenance_until = $until, updated_at = $now
   FROM (SELECT id AS previous_id, maintenance_until AS previous_until FROM registries WHERE id = $id FOR UPDATE) AS previous
   WHERE id = previous_id RETURNING previous_until`,
  { previous_until: "timestamptz?" },
);

/** SQL that makes the rows of a table due that wait for the end of a maintenance. @param lane SQL */
const wakeAfter = (table: "orders" | "renewals", lane: string): string => `WITH woken AS (
     UPDATE ${table} SET next_step_at = $now WHERE id IN (
       SELECT id FROM ${table} WHERE registry_id = $registry_id AND ended_at IS NULL AND next_step_at = $until
       ORDER BY id FOR UPDATE)
     RETURNING ${lane} AS lane, registry_id)
   ${wakeAll("woken")}`;
const resumeOrders = statement("orders-after-maintenance", wakeAfter("orders", "lane"), { notified: "int8" });
const resumeRenewals = statement("renewals-after-maintenance", wakeAfter("renewals", "'renewal'"), {
  notified: "int8",
});

export interface Maintenance {
  from: Date;
  until: Date;
}

/**
 * Plans a registry's maintenance, or ends it. Changes that wait for the end of the previous one become due.
 * @returns the end of the previous maintenance; "unknown" when no process has ever owned such a registry
 */
export async function setMaintenance(
  context: Pick<Context, "database" | "clock">,
  registryId: string,
  maintenance: Maintenance | undefined,
): Promise<Date | undefined | "unknown"> {
  const { from = null, until = null } = maintenance ?? {};
  const now = context.clock.now();
  return context.database.transaction(async (tx) => {
    const [previous] = await tx.query(updateMaintenance, { id: registryId, from, until, now });
    if (!previous) return "unknown";
    if (previous.previous_until === null) return undefined;
    const { previous_until: ended } = previous;
    for (const resume of [resumeOrders, resumeRenewals]) {
      await tx.query(resume, { registry_id: registryId, until: ended, now });
    }
    return previous.previous_until;
  });
}

// `setMaintenance` waits for this lock, and then sees the change as waiting.
const holdUntil = statement(
  "registry-maintenance-hold",
  `SELECT id FROM registries
   WHERE id = $registry_id AND date_trunc('milliseconds', maintenance_until) = $until FOR SHARE`,
  { id: "text" },
);

/** Whether the registry's maintenance ends at `until`; that stays so until the transaction ends. */
export async function holdMaintenance(tx: Transaction, registryId: string, until: Date): Promise<boolean> {
  return (await tx.query(holdUntil, { registry_id: registryId, until })).length > 0;
}
