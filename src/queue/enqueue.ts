import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";

const callJob = statement(
  "job-call",
  "SELECT call_job($1::text, $2::json, $3::text, $4::float8, $5::int4, $6::text) AS id",
  { id: "int8" },
);

// Thousands of renewals may fall due at once, and each has weeks: an order's step goes before them.
const renewalPriority = 10;

/** Order steps run where the registry's sessions are: each registry has a task of its own. */
export const orderTask = (registryId: string) => `order:${registryId}`;
export const renewalTask = (registryId: string) => `renewal:${registryId}`;
/**
 * Enqueues an order's next step, in the caller's transaction; replaces the one that waits. Jobs carry ids, never data.
 * @param delayMs from now by the database's clock, which looks after the jobs and need not agree with ours
 */
export async function enqueueOrder(
  tx: Pick<Transaction, "query">,
  order: { id: number; registryId: string },
  delayMs: number,
): Promise<void> {
  const { id, registryId } = order;
  await tx.query(callJob, [orderTask(registryId), { orderId: id }, `order:${id}`, delayMs, 0, "replace"]);
}

/** The same for orders of one registry that have waited, each at once. */
export async function wakeOrders(
  tx: Pick<Transaction, "query">,
  registryId: string,
  orders: readonly { id: number }[],
): Promise<void> {
  for (const { id } of orders) await enqueueOrder(tx, { id, registryId }, 0);
}

/** The same for a renewal's next step. */
export async function enqueueRenewal(
  tx: Pick<Transaction, "query">,
  renewal: { id: number; registryId: string },
  delayMs: number,
): Promise<void> {
  const { id, registryId } = renewal;
  const job = [renewalTask(registryId), { renewalId: id }, `renewal:${id}`];
  await tx.query(callJob, [...job, delayMs, renewalPriority, "replace"]);
}
