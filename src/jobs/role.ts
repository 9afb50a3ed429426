import { buildContext } from "#build-context.ts";
import type { Config } from "#config.ts";
import { startWorker } from "#jobs/worker.ts";
import type { Role } from "#role.ts";

/** The role `worker`. */
export async function startWorkerRole(config: Config): Promise<Role> {
  const context = buildContext(config, "worker");
  const worker = await startWorker(context, config.databaseUrl);
  context.log.info("the worker is working");
  return {
    ready: {},
    async close() {
      await worker.close();
      await context.close();
    },
  };
}
