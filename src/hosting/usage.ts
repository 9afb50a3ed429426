/** Follows the accounts' disk usage and traffic on a node, and writes them to the database. */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { recordSeen } from "#hosting/nodes/seen.ts";
import { learnUids } from "#hosting/nodes/uids.ts";
import { raiseTrafficAlarms } from "#hosting/traffic-alarms.ts";
import { watchReturns } from "#hosting/wake.ts";
import { sleep } from "#lib/clock.ts";
import { type HostingNode, NodeRefused, NodeUnavailable, type UsageChanges } from "#nodes/driver.ts";

/** How long a node holds the request while nothing changes. */
const waitMs = 30_000;
const retryMs = 5_000;

const updateUsage = statement(
  "hosting-usage-update",
  `UPDATE hosting_accounts AS account SET disk_used_bytes = used.bytes, files_used = used.files
   FROM unnest($uids::int8[], $bytes::int8[], $files::int4[]) AS used (uid, bytes, files)
   WHERE account.uid = used.uid AND (account.disk_used_bytes <> used.bytes OR account.files_used <> used.files)`,
  {},
);

/** SQL: what the account sent under earlier uids on this node. */
const bytesBefore = "CASE WHEN counted.uid <> excluded.uid THEN counted.bytes ELSE counted.bytes_before END";
// A node's count for a uid never decreases within a month, so a lower one comes from an older answer. An account that returns
// to a node has another uid there, whose count begins at 0.
const updateTraffic = statement(
  "hosting-traffic-update",
  `INSERT INTO hosting_traffic AS counted (account_id, node_id, month, uid, bytes)
   SELECT account.id, $node_id, sent.month, uid, sent.bytes
   FROM unnest($uids::int8[], $months::text[], $bytes::int8[]) AS sent (uid, month, bytes)
     JOIN hosting_accounts AS account USING (uid)
   ON CONFLICT (account_id, month, node_id) DO UPDATE SET uid = excluded.uid,
     bytes_before = ${bytesBefore}, bytes = ${bytesBefore} + excluded.bytes
   WHERE counted.bytes < ${bytesBefore} + excluded.bytes
   RETURNING account_id`,
  { account_id: "int8" },
);

/** Runs until the signal fires. */
export async function followUsage(
  context: Context,
  node: HostingNode,
  nodeId: string,
  signal: AbortSignal,
): Promise<void> {
  const returns = watchReturns(context, nodeId);
  let after = 0;
  let isLearned = false;
  // A node that did not answer must answer at once: we want to know whether it is back.
  let heldMs = 0;
  while (!signal.aborted) {
    try {
      // Detects a restored database before any command reaches the node.
      if (!isLearned) isLearned = await learnUids(context, node, nodeId).then(() => true, ignoreUnlessBug);
      const changes = await node.usageChanges({ after, waitMs: heldMs, signal });
      heldMs = waitMs;
      if (!changes.isRemembered) {
        await recordSeen(context, nodeId);
        await returns.answered();
      }
      await saveUsage(context, nodeId, changes.accounts);
      after = changes.version;
    } catch (error) {
      if (signal.aborted) return;
      heldMs = 0;
      returns.failed();
      // The database may have been restored meanwhile.
      isLearned = false;
      context.log.debug({ err: error, node: nodeId }, "the node's usage could not be read");
      await sleep(retryMs, signal);
    }
  }
}

function ignoreUnlessBug(error: unknown): false {
  if (error instanceof NodeUnavailable || error instanceof NodeRefused) return false;
  throw error;
}

/** @param nodeId the node that counted it */
export async function saveUsage(context: Context, nodeId: string, accounts: UsageChanges["accounts"]): Promise<void> {
  if (accounts.length === 0) return;
  await context.database.query(updateUsage, {
    uids: accounts.map(({ uid }) => uid),
    bytes: accounts.map(({ bytes }) => bytes),
    files: accounts.map(({ files }) => files),
  });
  const sent = accounts.flatMap(({ uid, traffic }) => (traffic ? [{ uid, ...traffic }] : []));
  if (sent.length === 0) return;
  const changed = await context.database.query(updateTraffic, {
    node_id: nodeId,
    uids: sent.map(({ uid }) => uid),
    months: sent.map(({ month }) => month),
    bytes: sent.map(({ bytes }) => bytes),
  });
  await raiseTrafficAlarms(
    context,
    changed.map(({ account_id }) => account_id),
  );
}
