import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";

// A job is tried until it is done: an order that was acknowledged is never given up because a machine was down long.
const attemptsMax = 32_767;

const addJob = statement(
  "job-add",
  `SELECT id::int8 FROM graphile_worker.add_job($1::text, payload := $2::json, run_at := $3::timestamptz,
     job_key := $4::text, max_attempts := $5::int, job_key_mode := 'replace')`,
  { id: "int8" },
);

/** Order steps run where the registry's sessions are: each registry has a task of its own. */
export const orderTask = (registryId: string) => `order:${registryId}`;
export const provisionTask = "provision";

/**
 * Enqueues an order's next step, in the caller's transaction; replaces the one that waits. Jobs carry ids, never data.
 * @param runAt when, or null for at once
 */
export async function enqueueOrder(
  tx: Pick<Transaction, "query">,
  order: { id: number; registryId: string },
  runAt: Date | null,
): Promise<void> {
  await tx.query(addJob, [orderTask(order.registryId), { orderId: order.id }, runAt, `order:${order.id}`, attemptsMax]);
}

/** The same for a hosting account's provisioning. */
export async function enqueueProvision(
  tx: Pick<Transaction, "query">,
  accountId: number,
  runAt: Date | null,
): Promise<void> {
  await tx.query(addJob, [provisionTask, { accountId }, runAt, `account:${accountId}`, attemptsMax]);
}
