/** Brings what the accounts use and send from their node into the database, as it changes. */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { recordSeen } from "#hosting/nodes/seen.ts";
import { learnUids } from "#hosting/nodes/uids.ts";
import { raiseTrafficAlarms } from "#hosting/traffic-alarms.ts";
import { watchReturns } from "#hosting/wake.ts";
import { sleep } from "#lib/clock.ts";
import { type HostingNode, NodeRefused, NodeUnavailable, type UsageChanges } from "#nodes/driver.ts";

/** How long a node holds the question while nothing changes. */
const waitMs = 30_000;
const retryMs = 5_000;

const updateUsage = statement(
  "hosting-usage-update",
  `UPDATE hosting_accounts AS account SET disk_used_bytes = used.bytes, files_used = used.files
   FROM unnest($1::int8[], $2::int8[], $3::int4[]) AS used (uid, bytes, files)
   WHERE account.uid = used.uid AND (account.disk_used_bytes <> used.bytes OR account.files_used <> used.files)`,
  {},
);

// A node's count never falls within a month, for one uid: a lower one is an older answer. An account that comes back to a
// node has another uid there, and is counted from 0.
/** SQL: what other uids sent. */
const bytesBefore = "CASE WHEN counted.uid <> excluded.uid THEN counted.bytes ELSE counted.bytes_before END";
const updateTraffic = statement(
  "hosting-traffic-update",
  `INSERT INTO hosting_traffic AS counted (account_id, node_id, month, uid, bytes)
   SELECT account.id, $1, sent.month, uid, sent.bytes
   FROM unnest($2::int8[], $3::text[], $4::int8[]) AS sent (uid, month, bytes) JOIN hosting_accounts AS account USING (uid)
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
  // A node that did not answer is not asked to hold the question: that it answers is what we want to know.
  let heldMs = 0;
  while (!signal.aborted) {
    try {
      // Who works on a database that was just restored hears of it before anything happens to be done on the node.
      if (!isLearned) isLearned = await learnUids(context, node, nodeId).then(() => true, lookAgainLater);
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
      // The database was away too, perhaps, and is another one by now.
      isLearned = false;
      context.log.debug({ err: error, node: nodeId }, "the node's usage could not be read");
      await sleep(retryMs, signal);
    }
  }
}

function lookAgainLater(error: unknown): false {
  if (error instanceof NodeUnavailable || error instanceof NodeRefused) return false;
  throw error;
}

/** @param nodeId who counted it */
export async function saveUsage(context: Context, nodeId: string, accounts: UsageChanges["accounts"]): Promise<void> {
  if (accounts.length === 0) return;
  const column = (name: "uid" | "bytes" | "files") => accounts.map((account) => account[name]);
  await context.database.query(updateUsage, [column("uid"), column("bytes"), column("files")]);
  const sent = accounts.flatMap(({ uid, traffic }) => (traffic ? [{ uid, ...traffic }] : []));
  if (sent.length === 0) return;
  const values = [sent.map(({ uid }) => uid), sent.map(({ month }) => month), sent.map(({ bytes }) => bytes)];
  const changed = await context.database.query(updateTraffic, [nodeId, ...values]);
  await raiseTrafficAlarms(
    context,
    changed.map(({ account_id }) => account_id),
  );
}
