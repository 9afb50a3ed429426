import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";

// A job is tried until it is done: an order that was acknowledged is never given up because a machine was down long.
const attemptsMax = 32_767;

const addJob = statement(
  "job-add",
  `SELECT id::int8 FROM graphile_worker.add_job($1::text, payload := $2::json,
     run_at := clock_timestamp() + $3::float8 * interval '1 millisecond',
     job_key := $4::text, max_attempts := $5::int, job_key_mode := 'replace')`,
  { id: "int8" },
);

/** SQL: a job that is due now, for add_jobs of many; each part is SQL. */
export const jobSpec = (task: string, payload: string, key: string) =>
  `(${task}, ${payload}, NULL, now(), ${attemptsMax}, ${key}, 0, NULL)::graphile_worker.job_spec`;

// Thousands of renewals may fall due at once, and each has weeks: an order's step goes before them.
const renewalPriority = 10;

const addLessUrgentJob = statement(
  "job-add-less-urgent",
  `SELECT id::int8 FROM graphile_worker.add_job($1::text, payload := $2::json,
     run_at := clock_timestamp() + $3::float8 * interval '1 millisecond',
     job_key := $4::text, max_attempts := $5::int, job_key_mode := 'replace', priority := ${renewalPriority})`,
  { id: "int8" },
);

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
  await tx.query(addJob, [orderTask(registryId), { orderId: id }, delayMs, `order:${id}`, attemptsMax]);
}

/** The same for a renewal's next step. */
export async function enqueueRenewal(
  tx: Pick<Transaction, "query">,
  renewal: { id: number; registryId: string },
  delayMs: number,
): Promise<void> {
  const { id, registryId } = renewal;
  const job = [renewalTask(registryId), { renewalId: id }, delayMs, `renewal:${id}`, attemptsMax];
  await tx.query(addLessUrgentJob, job);
}

/** The same for a hosting account's provisioning. */
export async function enqueueProvision(
  tx: Pick<Transaction, "query">,
  accountId: number,
  delayMs: number,
): Promise<void> {
  await tx.query(addJob, [provisionTask, { accountId }, delayMs, `account:${accountId}`, attemptsMax]);
}

/** The same for an account's move to another node. */
export async function enqueueMove(tx: Pick<Transaction, "query">, moveId: number, delayMs: number): Promise<void> {
  await tx.query(addJob, [moveTask, { moveId }, delayMs, `move:${moveId}`, attemptsMax]);
}

/** A comparison of what a node has with what it shall have. */
export async function enqueueReconcile(tx: Pick<Transaction, "query">, nodeId: string): Promise<void> {
  await tx.query(addJob, [reconcileTask, { nodeId }, 0, `reconcile:${nodeId}`, attemptsMax]);
}
