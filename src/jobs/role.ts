import { startAlarmMessages } from "#alarm-messages/machine.ts";
import { buildContext } from "#build-context.ts";
import type { Config } from "#config.ts";
import { noteRestore } from "#events/log.ts";
import { whyNotReady } from "#jobs/readiness.ts";
import { startWorker } from "#jobs/worker.ts";
import { sendSpans } from "#lib/measure/send-spans.ts";
import { startStatusListener } from "#lib/net/status-listener.ts";
import { readFacts } from "#metrics/facts.ts";
import { startMetrics } from "#metrics/metrics.ts";
import type { Role } from "#role.ts";
import { createDatabaseWatch } from "#watch/database.ts";
import { lookAtDisks, ownLogFile } from "#watch/disk-space.ts";
import { startWatch } from "#watch/look-around.ts";
import { watchLostCommits } from "#watch/lost-commits.ts";
import { recordProcess } from "#watch/processes.ts";

/** The role `worker`. */
export async function startWorkerRole(config: Config): Promise<Role> {
  const context = buildContext(config, "worker");
  const spans = await sendSpans(config.traces, "worker", context.log);
  const { databaseUrl: url, databaseDemands: demands } = config;
  const databaseWatch = createDatabaseWatch(context, { url, demands, role: "worker" });
  await databaseWatch.start();
  const processRow = await recordProcess(context, "worker");
  await noteRestore(context);
  const losses = watchLostCommits(context);
  const { clock, log } = context;
  const own = { role: "worker", whyNotReady: () => whyNotReady(context), log };
  const metrics = startMetrics({ ...own, clock, readFacts: () => readFacts(context) });
  const worker = await startWorker(context, config.databaseUrl);
  const alarmMessages = await startAlarmMessages(context, config.databaseUrl, config.alarmChannels);
  const status = await startStatusListener(config.status, { ...own, pages: { "/metrics": metrics.page } });
  log.info("the worker is working");
  const watch = startWatch(context, async () => {
    await databaseWatch.look();
    await lookAtDisks(context, [...ownLogFile(), ...config.diskFolders]);
  });
  return {
    ready: status.ready,
    async close() {
      await Promise.all([worker.close(), watch.close(), alarmMessages.close(), losses.close()]);
      await Promise.all([status.close(), processRow.close()]);
      metrics.close();
      await spans.close();
      await context.close();
    },
  };
}
