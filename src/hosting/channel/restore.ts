/** Sends a node with an agent its whole desired state again, after an operator decided to keep a restored database. */
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { nodeDesiredChannel } from "#hosting/channel/channels.ts";

const readBase = statement(
  "node-restore-read",
  "SELECT greatest(head, ahead_version) AS base FROM node_channels WHERE node_id = $node_id FOR UPDATE",
  { base: "int8?" },
);
const renumberStates = statement(
  "node-restore-states",
  `UPDATE node_states SET version = $base + place, held_version = NULL, held_state = NULL, held_hash_sealed = NULL
   FROM (SELECT uid, row_number() OVER (ORDER BY version) AS place FROM node_states WHERE node_id = $node_id) AS ordered
   WHERE node_id = $node_id AND node_states.uid = ordered.uid`,
  {},
);
const resumeChannel = statement(
  "node-restore-channel",
  `WITH channel AS (UPDATE node_channels SET issued_version = $base, ahead_version = NULL,
       head = $base + (SELECT count(*) FROM node_states WHERE node_id = $node_id)
     WHERE node_id = $node_id RETURNING head)
   SELECT (SELECT count(*) FROM node_states WHERE node_id = $node_id) AS accounts,
     notify_after_commit('${nodeDesiredChannel}', $node_id)::text AS notified
   FROM channel`,
  { accounts: "int8", notified: "text" },
);

/**
 * Makes this database's state of the node the desired one again: every account that it knows, and every removal.
 * @returns how many states are sent; 0 for a node without an agent
 */
export async function tellEverything(tx: Pick<Transaction, "query">, nodeId: string): Promise<number> {
  const [channel] = await tx.query(readBase, { node_id: nodeId });
  if (!channel) return 0;
  await tx.query(renumberStates, { node_id: nodeId, base: channel.base });
  const [resumed] = await tx.query(resumeChannel, { node_id: nodeId, base: channel.base });
  return resumed!.accounts;
}
