/** The only role that changes the outside world: hosting nodes directly, registries when this process owns their sessions. */
import type { Context } from "#context.ts";
import { openHostingNodes } from "#hosting/drivers/open.ts";
import { startHostingMachines } from "#hosting/machines.ts";
import { followUsage } from "#hosting/usage.ts";
import { startChores } from "#jobs/chores.ts";
import { startRegistryRole } from "#jobs/registry-role.ts";
import { startLiveness } from "#locks/liveness.ts";
import { processName } from "#locks/process-name.ts";
import { startRowLocks } from "#locks/row-locks.ts";
import { startHeartbeat } from "#watch/heartbeat.ts";
import { startWebhooks } from "#webhooks/machine.ts";
import { startZones } from "#zones/machine.ts";
import { startCatalog } from "#zones/servers/follow-catalog.ts";
import { Notifier } from "#zones/servers/notify.ts";
import { recordZoneSettings } from "#zones/settings.ts";

export interface WorkerRole {
  close(): Promise<void>;
}

/**
 * Provisions accounts, records their usage, runs the chores, and competes for the ownership of each registry. Several workers
 * can run at once.
 * @param databaseUrl for the connections that hold locks, which are not the context's
 * @throws the driver's error when the database is not available
 */
export async function startWorker(context: Context, databaseUrl: string): Promise<WorkerRole> {
  const { log } = context;
  const liveness = startLiveness(context, databaseUrl);
  const locks = startRowLocks({ log, databaseUrl });
  const nodes = await openHostingNodes(context, (...node) => followUsage(context, ...node));
  const hosting = startHostingMachines(context, locks, nodes);
  const webhooks = startWebhooks(context, locks);
  await recordZoneSettings(context);
  const notifier = new Notifier(context);
  const zones = startZones(context, locks, notifier);
  const catalog = startCatalog(context, notifier);
  const chores = await startChores(context, locks);
  const heartbeat = startHeartbeat(context, processName, () => [
    ...hosting.stepsInProgress(),
    ...webhooks.stepsInProgress(),
    ...zones.stepsInProgress(),
    ...chores.stepsInProgress(),
  ]);
  const roles = context.registries.map((profile) => startRegistryRole({ context, profile, databaseUrl, liveness }));
  await Promise.all(roles.map(({ started }) => started));
  return {
    async close() {
      await Promise.all([
        ...roles.map((role) => role.close()),
        hosting.close(),
        webhooks.close(),
        zones.stop(),
        catalog.close(),
        chores.stop(),
      ]);
      await nodes.close();
      await heartbeat.close();
      await Promise.all([liveness.close(), locks.close()]);
    },
  };
}
