/** The looks at host names: on a queue of their own, so that name servers that do not answer hold nobody's account up. */
import type { Pool } from "pg";
import type { Context } from "#context.ts";
import { checkHostName } from "#hosting/host-names-check.ts";
import { createTxtLookup } from "#hosting/host-names-dns.ts";
import type { Liveness } from "#jobs/liveness.ts";
import { startJobRunner } from "#jobs/runner.ts";

/** Most of them only wait for a name server. */
const checksMax = 16;

/** Looks at host names until it is closed. @throws the driver's error when the queue cannot be started */
export async function startHostNameChecks(context: Context, pool: Pool, liveness: Liveness) {
  const lookup = createTxtLookup(context.dnsServers);
  const runner = await startJobRunner({
    ...{ pool, log: context.log, liveness, calls: context.listener, jobsMax: checksMax, jobsAhead: 1 },
    tasks: {
      "host-name": (payload) => checkHostName(context, lookup, (payload as { hostNameId: number }).hostNameId),
    },
  });
  return {
    async close(): Promise<void> {
      lookup.close();
      await runner.stop();
    },
  };
}
