/** Versions of what a node shall know, and whether it listens. */
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { NodeUnavailable } from "#nodes/driver.ts";

/** Twice what an agent is silent at most, and time to reconnect: one that is silent for longer is not waited for. */
const silentMs = 75_000;

const takeVersion = statement(
  "node-version-take",
  `UPDATE node_channels SET head = head + 1 WHERE node_id = $1
   RETURNING head, applied_version, ahead_version, last_seen_at, ahead_version IS NOT NULL
     OR (SELECT restored_at IS NOT NULL FROM hosting_nodes WHERE id = $1) AS is_restored`,
  {
    head: "int8",
    applied_version: "int8",
    ahead_version: "int8?",
    last_seen_at: "timestamptz?",
    is_restored: "bool?",
  },
);

export interface TakenVersion {
  version: number;
  /** What the node has acknowledged. */
  applied: number;
  /** What the node knew when it turned out to know more than this database had issued: versions begin anew after it. */
  ahead: number | null;
  /** Whether the node knows more than this database: then nothing is removed there. */
  isRestored: boolean;
  /** Whether the node's agent has asked lately: only then an answer can be expected soon. */
  isListening: boolean;
}

/**
 * The node's next version. Its order is kept by the lock on the node's row, which lasts until the transaction's end.
 * @throws NodeUnavailable without a machine
 */
export async function takeNodeVersion(context: Context, tx: Transaction, nodeId: string): Promise<TakenVersion> {
  const [taken] = await tx.query(takeVersion, [nodeId]);
  if (!taken) throw new NodeUnavailable(unjoinedText(nodeId));
  const silentSince = context.clock.now().getTime() - silentMs;
  const isListening = taken.last_seen_at !== null && taken.last_seen_at.getTime() > silentSince;
  const { head: version, applied_version: applied, ahead_version: ahead, is_restored } = taken;
  return { version, applied, ahead, isRestored: is_restored ?? false, isListening };
}

const unjoinedText = (nodeId: string) =>
  `no machine has joined as the node ${nodeId} yet: make a token with deedhouse node token`;

export const isAheadText = (nodeId: string) =>
  `the node ${nodeId} knows later states than this database had issued: was a backup restored? It is told again`;

export const silentText = (nodeId: string) => `the agent of the node ${nodeId} has not asked for its state lately`;
