/**
 * A database that was restored from a backup does not know that it is older than it was, but its nodes do: an agent has applied
 * versions that the database has not issued (src/hosting/channel/sync.ts), and a node has uids that were never given out
 * (src/hosting/nodes/uids.ts). From then on the node may have accounts that are unknown here, and a requested removal may be
 * older than the account's last change; so nothing is removed there until an operator decides to keep this database.
 */
import { raiseAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { DatabaseUnavailable } from "#db/errors.ts";
import { statement } from "#db/statement.ts";
import { NodeUnavailable } from "#nodes/driver.ts";

const markNode = statement(
  "hosting-node-restored-mark",
  "UPDATE hosting_nodes SET restored_at = coalesce(restored_at, $now) WHERE id = $node_id",
  {},
);

const readRestored = statement(
  "hosting-node-restored-read",
  "SELECT restored_at IS NOT NULL AS is_restored FROM hosting_nodes WHERE id = $node_id",
  { is_restored: "bool" },
);

/** @param why what the node knows and this database does not: the end of a sentence about the node */
export async function markRestored(
  context: Pick<Context, "database" | "clock" | "log">,
  tx: Pick<Transaction, "query">,
  nodeId: string,
  why: string,
): Promise<void> {
  await tx.query(markNode, { node_id: nodeId, now: context.clock.now() });
  const note = `the node ${why}: was a backup restored? Nothing is removed there until deedhouse node restored ${nodeId}`;
  await raiseAlarm(context, { kind: "hosting-node-restored", subject: nodeId, note }, tx);
}

/** The contract of nodes has two errors. */
async function withoutDatabaseErrors<Result>(run: () => Promise<Result>): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof DatabaseUnavailable)) throw error;
    throw new NodeUnavailable(error.message, { cause: error });
  }
}

export async function isRestored(database: Pick<Transaction, "query">, nodeId: string): Promise<boolean> {
  const [node] = await database.query(readRestored, { node_id: nodeId });
  return node?.is_restored ?? false;
}

export const removesNothingText = (nodeId: string) =>
  `nothing is removed on the node ${nodeId}, which knows more than this database: was a backup restored? See deedhouse node restored`;

/** @throws NodeUnavailable */
export async function assertMayRemove({ database }: Pick<Context, "database">, nodeId: string): Promise<void> {
  if (await withoutDatabaseErrors(() => isRestored(database, nodeId))) {
    throw new NodeUnavailable(removesNothingText(nodeId));
  }
}
