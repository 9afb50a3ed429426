/** The versions of a node's desired state, and whether its agent listens. */
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { NodeUnavailable } from "#nodes/driver.ts";

/** Twice the longest silence of an agent, and time to reconnect. No caller waits for an agent that is silent for longer. */
const silentMs = 75_000;

const takeVersion = statement(
  "node-version-take",
  `UPDATE node_channels SET head = head + 1 WHERE node_id = $node_id
   RETURNING head, applied_version, ahead_version, last_seen_at, ahead_version IS NOT NULL
     OR (SELECT restored_at IS NOT NULL FROM hosting_nodes WHERE id = $node_id) AS is_restored`,
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
  /** The version that the node has acknowledged. */
  applied: number;
  /**
   * The node's version when it turned out to be higher than any that this database had issued. The numbering continues
   * after it.
   */
  ahead: number | null;
  /** Whether the node knows more than this database. Nothing is removed on such a node. */
  isRestored: boolean;
  /** Whether the node's agent has sent a request lately. If not, no answer can be expected soon. */
  isListening: boolean;
}

/**
 * Takes the node's next version. The lock on the node's row keeps versions in order until the transaction ends.
 * @throws NodeUnavailable when no server has joined
 */
export async function takeNodeVersion(
  context: Pick<Context, "clock">,
  tx: Transaction,
  nodeId: string,
): Promise<TakenVersion> {
  const [taken] = await tx.query(takeVersion, { node_id: nodeId });
  if (!taken) throw new NodeUnavailable(unjoinedText(nodeId));
  const silentSince = context.clock.now().getTime() - silentMs;
  const isListening = taken.last_seen_at !== null && taken.last_seen_at.getTime() > silentSince;
  const { head: version, applied_version: applied, ahead_version: ahead, is_restored } = taken;
  return { version, applied, ahead, isRestored: is_restored ?? false, isListening };
}

const unjoinedText = (nodeId: string) =>
  `no server has joined as the node ${nodeId} yet: create a token with deedhouse node token`;

export const isAheadText = (nodeId: string) =>
  `the node ${nodeId} has later states than this database had issued: was a backup restored? The states are sent again`;

export const silentText = (nodeId: string) => `the agent of the node ${nodeId} has not asked for its state lately`;
