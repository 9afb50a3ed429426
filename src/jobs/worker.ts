/** The role that changes the outside world: hosting nodes by itself, registries through the owner's role it may get. */
import type { Context } from "#context.ts";
import { startHostingMachines } from "#hosting/machines.ts";
import { openHostingNodes } from "#hosting/nodes/open.ts";
import { followUsage } from "#hosting/usage.ts";
import { startChores } from "#jobs/chores.ts";
import { startRegistryRole } from "#jobs/registry-role.ts";
import { startLiveness } from "#locks/liveness.ts";
import { processName } from "#locks/process-name.ts";
import { startRowLocks } from "#locks/row-locks.ts";
import { createJobPool } from "#queue/job-pool.ts";
import { startHeartbeat } from "#watch/heartbeat.ts";

/** For taking jobs and writing down their ends, a moment each. */
const jobConnectionsMax = 16;

export interface WorkerRole {
  close(): Promise<void>;
}

/**
 * Provisions accounts, follows what they use, keeps house, and competes for the ownership of each registry; several
 * workers can run at once.
 * @param databaseUrl for the connections of the job queue and of locks, beside those of the context
 * @throws the driver's error when the database cannot be asked
 */
export async function startWorker(context: Context, databaseUrl: string): Promise<WorkerRole> {
  const { log } = context;
  const queuesCount = context.registries.length;
  const sessions = context.registries.reduce((sum, profile) => sum + profile.sessionsMax, 0);
  const jobPool = createJobPool({
    databaseUrl,
    // Each queue keeps one for LISTEN, and needs one for taking the next job.
    connectionsMax: queuesCount + Math.min(sessions + queuesCount, jobConnectionsMax),
    log,
  });
  const liveness = startLiveness(context, databaseUrl);
  const locks = startRowLocks({ log, databaseUrl });
  const nodes = await openHostingNodes(context, (...node) => followUsage(context, ...node));
  const hosting = startHostingMachines(context, locks, nodes);
  const chores = await startChores(context, locks);
  const heartbeat = startHeartbeat(context, processName, () => [...hosting.doing(), ...chores.doing()]);
  const roles = context.registries.map((profile) =>
    startRegistryRole({ context, profile, databaseUrl, jobPool, liveness }),
  );
  await Promise.all(roles.map(({ started }) => started));
  return {
    async close() {
      await Promise.all([...roles.map((role) => role.close()), hosting.close(), chores.stop()]);
      await nodes.close();
      await heartbeat.close();
      await Promise.all([liveness.close(), locks.close(), jobPool.end()]);
    },
  };
}
