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
import { startHeartbeat } from "#watch/heartbeat.ts";

export interface WorkerRole {
  close(): Promise<void>;
}

/**
 * Provisions accounts, follows what they use, keeps house, and competes for the ownership of each registry; several
 * workers can run at once.
 * @param databaseUrl for the connections that hold locks, beside those of the context
 * @throws the driver's error when the database cannot be asked
 */
export async function startWorker(context: Context, databaseUrl: string): Promise<WorkerRole> {
  const { log } = context;
  const liveness = startLiveness(context, databaseUrl);
  const locks = startRowLocks({ log, databaseUrl });
  const nodes = await openHostingNodes(context, (...node) => followUsage(context, ...node));
  const hosting = startHostingMachines(context, locks, nodes);
  const chores = await startChores(context, locks);
  const heartbeat = startHeartbeat(context, processName, () => [
    ...hosting.stepsInProgress(),
    ...chores.stepsInProgress(),
  ]);
  const roles = context.registries.map((profile) => startRegistryRole({ context, profile, databaseUrl, liveness }));
  await Promise.all(roles.map(({ started }) => started));
  return {
    async close() {
      await Promise.all([...roles.map((role) => role.close()), hosting.close(), chores.stop()]);
      await nodes.close();
      await heartbeat.close();
      await Promise.all([liveness.close(), locks.close()]);
    },
  };
}
