/**
 * Orders that nobody works on. A new one whose notification nobody heard would wait for ever, so would one without a job, and
 * one that is due would wait for hours when its job failed often: the queue's own delay grows to six hours. Whatever happened,
 * the registry's owner finds them.
 */
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import { statement } from "#db/statement.ts";
import { longestWaitMs } from "#domains/registry/due-time.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import type { NewOrders } from "#jobs/new-orders.ts";
import { sleep } from "#lib/clock.ts";
import type { Liveness } from "#locks/liveness.ts";
import { enqueueOrder, orderTask, renewalTask } from "#queue/enqueue.ts";

const retryMs = 1_000;
/** Between two looks whether the owner before this one is still at work. */
const betweenLooksMs = 250;
/** One that is only slow has ended its work by then: its statements are over (src/db/connection.ts). */
const endsMsMax = 15_000;
/** While it hangs, its alarm is raised anew so often. */
const hangingMs = 60_000;

const forgottenOrders = statement(
  "orders-forgotten",
  `SELECT id, reseller_id, status = 'NotProvisioned' AND next_step_at IS NULL AS is_new FROM registration_orders AS o
   WHERE registry_id = $1 AND status IN ('NotProvisioned', 'Processing', 'Pending')
     AND NOT EXISTS (SELECT FROM graphile_worker.jobs AS job WHERE job.key = 'order:' || o.id
       AND (job.locked_at IS NOT NULL OR job.run_at <= now() OR o.next_step_at > $2::timestamptz AND (o.next_step_at <= $3
         OR EXISTS (SELECT FROM registries WHERE id = $1 AND o.next_step_at <= maintenance_until))))
   ORDER BY id`,
  { id: "int8", reseller_id: "int8", is_new: "bool" },
);

export interface ForgottenOrdersOptions {
  sessions: RegistrySessions;
  newOrders: NewOrders;
  liveness: Pick<Liveness, "freeElsewhere">;
  /** How long the lease of the owner before this one would have lasted yet. */
  predecessorMs: number;
}

/**
 * Looks for orders that nobody works on, and lets them go on; one that has time puts itself off. An owner from before that has
 * only lost its connection will still write down what its creates are answered, while its lease would not have ended: what it
 * has begun is left to it for so long. One that hangs is not waited for any longer, but is an alarm.
 * @returns what looks now, or once more when a look is under way; each goes on until it has succeeded, or until `ended`
 */
export function forgottenOrdersSearch(
  { sessions, newOrders, liveness, predecessorMs }: ForgottenOrdersOptions,
  ended: AbortSignal,
): () => Promise<void> {
  const { context, profile } = sessions;
  const tasks = [orderTask(profile.id), renewalTask(profile.id)];
  const leftToItUntilMs = context.clock.monotonicMs() + predecessorMs;
  let isWatched = false;
  let running: Promise<void> | undefined;
  let isAskedAgain = false;

  async function search(): Promise<void> {
    let holder = await newOrders.findElsewhere();
    while (holder !== undefined && !ended.aborted && context.clock.monotonicMs() < leftToItUntilMs) {
      await sleep(betweenLooksMs, ended);
      holder = await newOrders.findElsewhere();
    }
    if (ended.aborted) return;
    if (holder !== undefined) await liveness.freeElsewhere(tasks);
    if (!isWatched) void watchPredecessor(sessions, newOrders, ended);
    isWatched = true;
    // Of these some will have ended before the answer is here.
    const here = new Set(newOrders.list());
    const now = context.clock.now();
    const latest = new Date(now.getTime() + longestWaitMs(profile));
    const forgotten = await context.database.query(forgottenOrders, [profile.id, now, latest]);
    for (const { id, reseller_id: resellerId, is_new: isNew } of forgotten) {
      if (here.has(id) || newOrders.has(id)) continue;
      if (isNew) newOrders.add(id, resellerId);
      else await enqueueOrder(context.database, { id, registryId: profile.id }, 0);
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

/** Raises an alarm while the owner before this one hangs, and resolves what is open of one. Never throws. */
async function watchPredecessor(
  { context, profile }: RegistrySessions,
  newOrders: NewOrders,
  ended: AbortSignal,
): Promise<void> {
  const alarm = { kind: "worker-stuck", subject: profile.id } as const;
  let nextTellMs = context.clock.monotonicMs() + endsMsMax;
  while (!ended.aborted) {
    try {
      const holder = await newOrders.findElsewhere();
      // One that the owner before this one has raised may be open.
      if (holder === undefined) {
        await resolveAlarm(context, alarm);
        return;
      }
      if (context.clock.monotonicMs() > nextTellMs) {
        nextTellMs += hangingMs;
        const note = `the worker of ${holder} hangs: it has lost the lease of ${profile.id} to another one and does not end its work; kill it`;
        await raiseAlarm(context, { ...alarm, note });
      }
    } catch (error) {
      context.log.warn({ err: error, registry: profile.id }, "whether the owner before this one hangs is not known");
    }
    await sleep(betweenLooksMs, ended);
  }
}
