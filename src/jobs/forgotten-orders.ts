/**
 * Orders that nobody works on. A new one whose notification nobody heard would wait for ever, so would one without a job, and
 * one that is due would wait for hours when its job failed often: the queue's own delay grows to six hours. Whatever happened,
 * the registry's owner finds them.
 */
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import { statement } from "#db/statement.ts";
import type { RegistrySessions } from "#domains/registry-sessions.ts";
import { enqueueOrder } from "#jobs/enqueue.ts";
import type { NewOrders } from "#jobs/new-orders.ts";
import { sleep } from "#lib/clock.ts";

const retryMs = 1_000;
/** Between two looks whether the owner before this one is still at work. */
const predecessorMs = 250;
/** By then it begins no more: it has lost the registry's lock, and its statements are over (src/db/connection.ts). */
const beginsMsMax = 15_000;
/** While it hangs, orders of which nobody was told are begun so often, and its alarm is raised anew. */
const hangingMs = 60_000;

const forgottenOrders = statement(
  "orders-forgotten",
  `SELECT id, reseller_id, status = 'NotProvisioned' AND next_step_at IS NULL AS is_new FROM registration_orders AS o
   WHERE registry_id = $1 AND status IN ('NotProvisioned', 'Processing', 'Pending')
     AND NOT EXISTS (SELECT FROM graphile_worker.jobs AS job WHERE job.key = 'order:' || o.id
       AND (job.locked_at IS NOT NULL OR job.run_at <= now() OR o.next_step_at > $2::timestamptz))
   ORDER BY id`,
  { id: "int8", reseller_id: "int8", is_new: "bool" },
);

/**
 * Looks for orders that nobody works on, and lets them go on; one that has time puts itself off. An owner from before that has
 * only lost the registry's lock will still write down what its creates are answered: what it has begun is left to it.
 * @returns what looks now, or once more when a look is under way; each goes on until it has succeeded, or until `ended`
 */
export function forgottenOrdersSearch(
  sessions: RegistrySessions,
  newOrders: NewOrders,
  ended: AbortSignal,
): () => Promise<void> {
  const { context, profile } = sessions;
  const alarm = { kind: "worker-stuck", subject: profile.id } as const;
  // One that the owner before this one has raised may be open.
  let isAlarmPossible = true;
  let running: Promise<void> | undefined;
  let isAskedAgain = false;

  async function takeUp(newOnly: boolean): Promise<void> {
    // Of these some will have ended before the answer is here.
    const here = new Set(newOrders.list());
    const forgotten = await context.database.query(forgottenOrders, [profile.id, context.clock.now()]);
    for (const { id, reseller_id: resellerId, is_new: isNew } of forgotten) {
      if (here.has(id) || newOrders.has(id)) continue;
      if (isNew) newOrders.add(id, resellerId);
      else if (!newOnly) await enqueueOrder(context.database, { id, registryId: profile.id }, 0);
    }
  }

  async function search(): Promise<void> {
    await awaitPredecessor();
    if (ended.aborted) return;
    if (isAlarmPossible) await resolveAlarm(context, alarm);
    isAlarmPossible = false;
    await takeUp(false);
  }

  async function awaitPredecessor(): Promise<void> {
    let nextTellMs = context.clock.monotonicMs() + beginsMsMax;
    for (;;) {
      const holder = await newOrders.findElsewhere();
      if (holder === undefined || ended.aborted) return;
      if (context.clock.monotonicMs() > nextTellMs) {
        nextTellMs += hangingMs;
        isAlarmPossible = true;
        const note = `the worker of ${holder} has lost the registry's lock and holds orders that it has begun: if it hangs, kill it`;
        await raiseAlarm(context, { ...alarm, note });
        await takeUp(true);
      }
      await sleep(predecessorMs, ended);
    }
  }

  async function searchUntilDone(): Promise<void> {
    do {
      isAskedAgain = false;
      await search().catch(async (error: unknown) => {
        context.log.warn({ err: error, registry: profile.id }, "forgotten orders could not be looked for");
        isAskedAgain = true;
        await sleep(retryMs, ended);
      });
    } while (isAskedAgain && !ended.aborted);
    running = undefined;
  }

  return () => {
    if (running) isAskedAgain = true;
    running ??= searchUntilDone();
    return running;
  };
}
