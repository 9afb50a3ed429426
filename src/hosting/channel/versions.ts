/** Versions of what a node shall know, and whether it listens. */
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { NodeUnavailable } from "#nodes/driver.ts";

/** Twice what an agent is silent at most, and time to reconnect: one that is silent for longer is not waited for. */
const silentMs = 75_000;

const takeVersion = statement(
  "node-version-take",
  `UPDATE node_channels SET head = head + 1 WHERE node_id = $1 AND ahead_version IS NULL
   RETURNING head, applied_version, last_seen_at`,
  { head: "int8", applied_version: "int8", last_seen_at: "timestamptz?" },
);

const readAhead = statement("node-ahead", "SELECT ahead_version FROM node_channels WHERE node_id = $1", {
  ahead_version: "int8?",
});

export interface TakenVersion {
  version: number;
  /** What the node has acknowledged. */
  applied: number;
  /** Whether the node's agent has asked lately: only then an answer can be expected soon. */
  isListening: boolean;
}

/**
 * The node's next version. Its order is kept by the lock on the node's row, which lasts until the transaction's end.
 * @throws NodeUnavailable when the node must be given nothing
 */
export async function takeNodeVersion(context: Context, tx: Transaction, nodeId: string): Promise<TakenVersion> {
  const [taken] = await tx.query(takeVersion, [nodeId]);
  if (!taken) throw new NodeUnavailable(await whyNot(tx, nodeId));
  const silentSince = context.clock.now().getTime() - silentMs;
  const isListening = taken.last_seen_at !== null && taken.last_seen_at.getTime() > silentSince;
  return { version: taken.head, applied: taken.applied_version, isListening };
}

async function whyNot(tx: Transaction, nodeId: string): Promise<string> {
  const [channel] = await tx.query(readAhead, [nodeId]);
  if (!channel) return `no machine has joined as the node ${nodeId} yet: make a token with deedhouse node token`;
  return isAheadText(nodeId);
}

export const isAheadText = (nodeId: string) =>
  `the node ${nodeId} knows later states than this database has issued: was a backup restored? See deedhouse node restored`;

export const silentText = (nodeId: string) => `the agent of the node ${nodeId} has not asked for its state lately`;
