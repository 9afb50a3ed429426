import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";

const callJob = statement(
  "job-call",
  "SELECT call_job($1::text, $2::json, $3::text, $4::float8, $5::int4, $6::text) AS id",
  { id: "int8" },
);

// Thousands of renewals may fall due at once, and each has weeks: an order's step goes before them.
const renewalPriority = 10;

// An account's job, and a move's, look whenever they are run. So a delay keeps the job that waits, as far as it was not run
// yet: it is a call that came while the one that puts itself off was at work, and is not put off by that.
const modeOf = (delayMs: number) => (delayMs > 0 ? "preserve_run_at" : "replace");

/** Order steps run where the registry's sessions are: each registry has a task of its own. */
export const orderTask = (registryId: string) => `order:${registryId}`;
export const renewalTask = (registryId: string) => `renewal:${registryId}`;
export const provisionTask = "provision";
export const moveTask = "hosting-move";
export const reconcileTask = "hosting-reconcile";

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

/** The same for a hosting account; but a delay does not put off what was enqueued since the account's job is at work. */
export async function enqueueProvision(
  tx: Pick<Transaction, "query">,
  accountId: number,
  delayMs: number,
): Promise<void> {
  await tx.query(callJob, [provisionTask, { accountId }, `account:${accountId}`, delayMs, 0, modeOf(delayMs)]);
}

/** The same for an account's move to another node. */
export async function enqueueMove(tx: Pick<Transaction, "query">, moveId: number, delayMs: number): Promise<void> {
  await tx.query(callJob, [moveTask, { moveId }, `move:${moveId}`, delayMs, 0, modeOf(delayMs)]);
}

/** A comparison of what a node has with what it shall have. */
export async function enqueueReconcile(tx: Pick<Transaction, "query">, nodeId: string): Promise<void> {
  await tx.query(callJob, [reconcileTask, { nodeId }, `reconcile:${nodeId}`, 0, 0, "replace"]);
}
