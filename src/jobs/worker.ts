/** The role that changes the outside world: hosting nodes by itself, registries through the owner's role it may get. */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { advanceAccount } from "#hosting/accounts/advance.ts";
import { longestAccountWait, triesDelayMsMax } from "#hosting/accounts/tries.ts";
import { lookAtDueHostNames, lookAtHostName } from "#hosting/host-names/check.ts";
import { answerAtAllIdentifiers } from "#hosting/host-names/host-names.ts";
import { advanceMove, longestMoveWait } from "#hosting/moves/steps.ts";
import { openHostingNodes } from "#hosting/nodes/open.ts";
import { askAllReconciles, reconcileNode } from "#hosting/nodes/reconcile.ts";
import { tellOfAbsentNodes } from "#hosting/nodes/seen.ts";
import { endTrafficAlarms } from "#hosting/traffic-alarms.ts";
import { followUsage } from "#hosting/usage.ts";
import { startHostNameChecks } from "#jobs/host-name-checks.ts";
import { oneAtATime } from "#jobs/one-at-a-time.ts";
import { startRegistryRole } from "#jobs/registry-role.ts";
import { tellOfUnservedRegistries } from "#jobs/unserved-registries.ts";
import { startLiveness } from "#locks/liveness.ts";
import { processName } from "#locks/process-name.ts";
import { enqueueMove, enqueueProvision, moveTask, provisionTask, reconcileTask } from "#queue/enqueue.ts";
import { createJobPool } from "#queue/job-pool.ts";
import { startJobRunner } from "#queue/runner.ts";
import { startHeartbeat } from "#watch/heartbeat.ts";

/** Each waits for its node most of the time. */
const provisionsMax = 8;
/** Accounts that a worker moves at once. */
const movesMax = 2;
/** Accounts with their host names, and moves. */
const queuesBesideRegistries = 2;
/** For taking jobs and writing down their ends, a moment each. */
const jobConnectionsMax = 16;
const committedRequestsKeptSeconds = 24 * 60 * 60;

const dropOldCommitted = statement(
  "committed-requests-drop",
  "DELETE FROM committed_requests WHERE signed_at < $1",
  {},
);
const dropOldIdempotent = statement(
  "idempotent-requests-drop",
  "DELETE FROM idempotent_requests WHERE created_at < $1::timestamptz - interval '7 days'",
  {},
);
// A clock that was put forward and back leaves times behind that are further away than anything waits: they are due now.
const isWaiting = (nextStepAt: string, longestWait: string) =>
  `${nextStepAt} > $1::timestamptz AND ${nextStepAt} <= $1::timestamptz + ${longestWait}`;
const forgottenMoves = statement(
  "hosting-moves-forgotten",
  `SELECT id FROM hosting_moves WHERE ended_at IS NULL
     AND NOT EXISTS (SELECT FROM graphile_worker.jobs AS job WHERE job.key = 'move:' || hosting_moves.id
       AND (job.locked_at IS NOT NULL OR job.run_at <= now() OR ${isWaiting("hosting_moves.next_step_at", longestMoveWait)}))`,
  { id: "int8" },
);
const forgottenAccounts = statement(
  "hosting-accounts-forgotten",
  `SELECT id, next_step_at FROM hosting_accounts WHERE applied_version < wanted_version
     AND NOT EXISTS (SELECT FROM graphile_worker.jobs AS job WHERE job.key = 'account:' || hosting_accounts.id
       AND (job.locked_at IS NOT NULL OR job.run_at <= now() OR ${isWaiting("hosting_accounts.next_step_at", longestAccountWait)}))`,
  { id: "int8", next_step_at: "timestamptz?" },
);

// A job whose account is changed while it runs loses its key and the right to be tried again: another one is enqueued. But
// whoever was late with an older word owes its node the newest; killed before that, or without its database, it is tried
// again after all.
const overtakenProvisions = statement(
  "hosting-provisions-overtaken",
  `SELECT count(*) AS jobs FROM graphile_worker.reschedule_jobs(ARRAY(
     SELECT id FROM graphile_worker.jobs
     WHERE task_identifier = '${provisionTask}' AND key IS NULL AND locked_at IS NULL AND attempts >= max_attempts
     ORDER BY id LIMIT $1), run_at := now(), attempts := 0)`,
  { jobs: "int8" },
);
const overtakenMax = 1_000;

export interface WorkerRole {
  close(): Promise<void>;
}

/**
 * Provisions accounts, follows what they use, keeps house, and competes for the ownership of each registry; several
 * workers can run at once.
 * @param databaseUrl for the connections of the job queue, beside those of the context
 * @throws the driver's error when the database cannot be asked
 */
export async function startWorker(context: Context, databaseUrl: string): Promise<WorkerRole> {
  const queuesCount = context.registries.length + queuesBesideRegistries;
  const sessions = context.registries.reduce((sum, profile) => sum + profile.sessionsMax, 0);
  const jobPool = createJobPool({
    databaseUrl,
    // Each queue keeps one for LISTEN, and needs one for taking the next job.
    connectionsMax: queuesCount + Math.min(provisionsMax + movesMax + sessions + queuesCount, jobConnectionsMax),
    log: context.log,
  });
  const liveness = startLiveness(context, databaseUrl);
  const heartbeat = startHeartbeat(context, processName);
  const nodes = await openHostingNodes(context, (...node) => followUsage(context, ...node));
  const advance = oneAtATime((accountId) => advanceAccount(context, nodes, accountId));
  const runner = await startJobRunner({
    pool: jobPool,
    log: context.log,
    liveness,
    calls: context.listener,
    jobsMax: provisionsMax,
    // With a call one looks whether there is work, and not all of them.
    jobsAhead: 1,
    tasks: {
      [provisionTask]: (payload) => advance((payload as { accountId: number }).accountId),
      [reconcileTask]: (payload) => reconcileNode(context, nodes, (payload as { nodeId: string }).nodeId),
      reconciles: () => askAllReconciles(context),
      "host-name": (payload) => lookAtHostName(context, (payload as { hostNameId: number }).hostNameId),
      "bare-names": () => answerAtAllIdentifiers(context),
      async housekeeping() {
        await keepHouse(context);
        await tellOfAbsentNodes(context);
      },
    },
    crontab: "* * * * * housekeeping\n23 3 * * * reconciles",
  });
  // Beside the others: copying takes long, and an account that is new must not wait for it.
  const move = oneAtATime((moveId) => advanceMove(context, nodes, moveId));
  const moves = await startJobRunner({
    ...{ pool: jobPool, log: context.log, liveness, calls: context.listener, jobsMax: movesMax },
    tasks: { [moveTask]: (payload) => move((payload as { moveId: number }).moveId) },
  });
  await keepHouse(context);
  const hostNameChecks = startHostNameChecks(context);
  const roles = context.registries.map((profile) =>
    startRegistryRole({ context, profile, databaseUrl, jobPool, liveness }),
  );
  await Promise.all(roles.map(({ started }) => started));
  return {
    async close() {
      await Promise.all([...roles.map((role) => role.close()), runner.stop(), moves.stop(), hostNameChecks.close()]);
      await nodes.close();
      await heartbeat.close();
      await liveness.close();
      await jobPool.end();
    },
  };
}

/** Forgets what is too old to matter, finds accounts whose job was lost or sleeps long, and registries that nobody serves. */
async function keepHouse(context: Context): Promise<void> {
  const { database, clock } = context;
  const seconds = Math.floor(clock.now().getTime() / 1000);
  await database.query(dropOldCommitted, [seconds - committedRequestsKeptSeconds]);
  await database.query(dropOldIdempotent, [clock.now()]);
  const now = clock.now();
  for (const account of await database.query(forgottenAccounts, [now])) {
    const delayMs = (account.next_step_at ?? now).getTime() - now.getTime();
    await enqueueProvision(database, account.id, delayMs > triesDelayMsMax ? 0 : Math.max(0, delayMs));
  }
  await database.query(overtakenProvisions, [overtakenMax]);
  for (const { id } of await database.query(forgottenMoves, [now])) await enqueueMove(database, id, 0);
  await lookAtDueHostNames(context);
  await endTrafficAlarms(context);
  await tellOfUnservedRegistries(context);
}
