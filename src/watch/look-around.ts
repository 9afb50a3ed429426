/**
 * The alarms that nobody could raise if only workers raised alarms: the api and the operator's commands raise these.
 * Nothing is kept in memory, so a restart forgets nothing.
 */
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { sleep } from "#lib/clock.ts";
import { registryOwnerAlive } from "#locks/owner-lock.ts";
import { connectedProcesses } from "#locks/process-name.ts";

type WatchContext = Pick<Context, "database" | "clock" | "log">;

/** Twelve heartbeats (heartbeat.ts): a worker that its supervisor restarts is back sooner. */
const silenceToleratedSeconds = 60;
/** The same time as for other alarms: most faults have healed by then. */
const overdueToleratedMs = 10 * 60_000;
/** Many renewals on one day can take hours at a slow registry, and each of them has weeks. */
const renewalsOverdueToleratedMs = 24 * 3_600_000;
const lookMs = 60_000;

const workersSeen = statement(
  "watch-workers",
  `SELECT max(seen_at) AS last_at,
     coalesce(max(seen_at) < now() - make_interval(secs => $silent_seconds), false) AS is_absent
   FROM workers`,
  { last_at: "timestamptz?", is_absent: "bool" },
);

/** A stuck worker keeps its connections, so that nobody else can take its locks, and does nothing. */
const stuckWorkers = statement(
  "watch-workers-stuck",
  `SELECT coalesce(worker, subject) AS worker, seen_at, doing, worker IS NOT NULL AS is_stuck
   FROM (SELECT worker, seen_at, doing FROM workers JOIN (${connectedProcesses}) AS connected ON process = worker
     WHERE stopped_at IS NULL AND seen_at < now() - make_interval(secs => $silent_seconds) GROUP BY worker) AS stuck
   FULL JOIN (SELECT subject FROM alarms WHERE kind = 'worker-stuck' AND resolved_at IS NULL AND subject LIKE 'process %') AS raised
     ON subject = worker`,
  { worker: "text?", seen_at: "timestamptz?", doing: "text?", is_stuck: "bool?" },
);

// After a day, a registry that was given up on purpose has no open orders, names or renewals.
const unownedRegistries = statement(
  "watch-registries-unowned",
  `SELECT coalesce(registry_id, subject) AS registry, holder, expires_at
   FROM (SELECT registry_id, holder, expires_at FROM registry_leases AS lease
     WHERE expires_at < now() - make_interval(secs => $silent_seconds) AND NOT ${registryOwnerAlive("registry_id")}
       AND (expires_at > now() - interval '1 day'
         OR EXISTS (SELECT FROM orders WHERE orders.registry_id = lease.registry_id AND ended_at IS NULL)
         OR EXISTS (SELECT FROM domains WHERE domains.registry_id = lease.registry_id AND renewal_id IS NULL)
         OR EXISTS (SELECT FROM renewals WHERE renewals.registry_id = lease.registry_id AND ended_at IS NULL))) AS unowned
   FULL JOIN (SELECT subject FROM alarms WHERE kind = 'registry-unowned' AND resolved_at IS NULL) AS raised
     ON subject = registry_id`,
  { registry: "text?", holder: "text?", expires_at: "timestamptz?" },
);

const overdueWork = statement(
  "watch-overdue",
  `WITH overdue AS (
     SELECT 'orders of ' || registry_id AS what, count(*) AS due, min(next_step_at) AS since FROM orders
       WHERE ended_at IS NULL AND lane <> 'schedule' AND next_step_at < $due_before GROUP BY registry_id
     UNION ALL SELECT 'renewals of ' || registry_id, count(*), min(next_step_at) FROM (
       SELECT registry_id, next_step_at FROM renewals WHERE ended_at IS NULL AND next_step_at < $renewals_due_before
       UNION ALL SELECT registry_id, next_step_at FROM orders
         WHERE ended_at IS NULL AND lane = 'schedule' AND next_step_at < $renewals_due_before) AS of_schedule
       GROUP BY registry_id
     UNION ALL SELECT 'hosting accounts', count(*), min(next_step_at) FROM hosting_accounts
       WHERE next_step_at < $due_before HAVING count(*) > 0
     UNION ALL SELECT 'moves of hosting accounts', count(*), min(next_step_at) FROM hosting_moves
       WHERE next_step_at < $due_before HAVING count(*) > 0)
   SELECT coalesce(what, subject) AS what, due, since FROM overdue
   FULL JOIN (SELECT subject FROM alarms WHERE kind = 'work-overdue' AND resolved_at IS NULL) AS raised ON subject = what`,
  { what: "text?", due: "int8?", since: "timestamptz?" },
);

/** Raises and resolves the alarms `no-worker`, `worker-stuck`, `registry-unowned` and `work-overdue`. @throws the driver's error */
export async function lookAround(context: WatchContext): Promise<void> {
  await reportAbsentWorkers(context);
  await reportStuckWorkers(context);
  await reportUnownedRegistries(context);
  await reportOverdueWork(context);
}

async function reportAbsentWorkers(context: WatchContext): Promise<void> {
  const alarm = { kind: "no-worker", subject: "workers" } as const;
  const [seen] = await context.database.query(workersSeen, { silent_seconds: silenceToleratedSeconds });
  if (!seen?.is_absent) return void (await resolveAlarm(context, alarm));
  const note = `no worker has been running since ${seen.last_at?.toISOString()}: nothing is registered, renewed or provisioned until one is started`;
  await raiseAlarm(context, { ...alarm, note });
}

async function reportStuckWorkers(context: WatchContext): Promise<void> {
  for (const { worker, seen_at, doing, is_stuck } of await context.database.query(stuckWorkers, {
    silent_seconds: silenceToleratedSeconds,
  })) {
    const alarm = { kind: "worker-stuck", subject: worker ?? "" } as const;
    const note = `${worker} has done nothing since ${seen_at?.toISOString()} and keeps its database connections: kill it if it hangs`;
    const work = doing === null ? "" : `. It was working on ${doing}`;
    if (is_stuck) await raiseAlarm(context, { ...alarm, note: note + work });
    else await resolveAlarm(context, alarm);
  }
}

async function reportUnownedRegistries(context: WatchContext): Promise<void> {
  const rows = await context.database.query(unownedRegistries, { silent_seconds: silenceToleratedSeconds });
  for (const { registry, holder, expires_at } of rows) {
    const alarm = { kind: "registry-unowned", subject: registry ?? "" } as const;
    const note = `no worker has owned ${registry}'s sessions since the lease of ${holder} ended at ${expires_at?.toISOString()}: registrations are refused, and orders wait`;
    if (holder !== null) await raiseAlarm(context, { ...alarm, note });
    else await resolveAlarm(context, alarm);
  }
}

async function reportOverdueWork(context: WatchContext): Promise<void> {
  const before = (toleratedMs: number) => new Date(context.clock.now().getTime() - toleratedMs);
  const limits = {
    due_before: before(overdueToleratedMs),
    renewals_due_before: before(renewalsOverdueToleratedMs),
  };
  for (const { what, due, since } of await context.database.query(overdueWork, limits)) {
    const alarm = { kind: "work-overdue", subject: what ?? "" } as const;
    const note = `${due} ${what} are overdue, the first since ${since?.toISOString()}: look at the workers' logs`;
    if (due !== null) await raiseAlarm(context, { ...alarm, note });
    else await resolveAlarm(context, alarm);
  }
}

export interface Watch {
  close(): Promise<void>;
}

/** Calls `look` every minute, the first time after a minute: at a common start, workers come up after the api. */
export function startWatch({ log }: Pick<Context, "log">, look: () => Promise<void>): Watch {
  const stopped = new AbortController();
  async function run(): Promise<void> {
    for (;;) {
      await sleep(lookMs, stopped.signal);
      if (stopped.signal.aborted) return;
      await look().catch((error: unknown) => {
        log.warn({ err: error }, "looking for alarms failed");
      });
    }
  }
  const running = run();
  return {
    close() {
      stopped.abort();
      return running;
    },
  };
}
