/** Brings what the accounts use from their node into the database, as it changes. */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { sleep } from "#lib/clock.ts";
import type { HostingNode } from "#nodes/driver.ts";

/** How long a node holds the question while nothing changes. */
const waitMs = 30_000;
const retryMs = 5_000;

const updateUsage = statement(
  "hosting-usage-update",
  `UPDATE hosting_accounts AS account SET disk_used_bytes = used.bytes
   FROM unnest($1::int8[], $2::int8[]) AS used (uid, bytes)
   WHERE account.uid = used.uid AND account.disk_used_bytes <> used.bytes`,
  {},
);

/** Runs until the signal fires. */
export async function followUsage(context: Context, node: HostingNode, signal: AbortSignal): Promise<void> {
  let after = 0;
  while (!signal.aborted) {
    try {
      const changes = await node.usageChanges({ after, waitMs, signal });
      const { accounts } = changes;
      if (accounts.length > 0) {
        await context.database.query(updateUsage, [accounts.map(({ uid }) => uid), accounts.map(({ bytes }) => bytes)]);
      }
      after = changes.version;
    } catch (error) {
      if (signal.aborted) return;
      context.log.debug({ err: error }, "the node's usage could not be read");
      await sleep(retryMs, signal);
    }
  }
}
