/** Tells a node with an agent everything anew, once an operator goes on with a database that was restored. */
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { nodeDesiredChannel } from "#hosting/channel/channels.ts";

const readBase = statement(
  "node-restore-read",
  "SELECT greatest(head, ahead_version) AS base FROM node_channels WHERE node_id = $1 FOR UPDATE",
  { base: "int8?" },
);
const tellAgain = statement(
  "node-restore-states",
  `UPDATE node_states SET version = $2 + place, held_version = NULL, held_state = NULL, held_hash_sealed = NULL
   FROM (SELECT uid, row_number() OVER (ORDER BY version) AS place FROM node_states WHERE node_id = $1) AS ordered
   WHERE node_id = $1 AND node_states.uid = ordered.uid`,
  {},
);
const goOn = statement(
  "node-restore-channel",
  `WITH channel AS (UPDATE node_channels SET issued_version = $2, ahead_version = NULL,
       head = $2 + (SELECT count(*) FROM node_states WHERE node_id = $1)
     WHERE node_id = $1 RETURNING head)
   SELECT (SELECT count(*) FROM node_states WHERE node_id = $1) AS accounts, pg_notify('${nodeDesiredChannel}', $1)::text AS notified
   FROM channel`,
  { accounts: "int8", notified: "text" },
);

/**
 * Makes what this database says the node's state again: every account it knows, and every removal.
 * @returns how many are told; 0 of a node without an agent
 */
export async function tellEverything(tx: Pick<Transaction, "query">, nodeId: string): Promise<number> {
  const [channel] = await tx.query(readBase, [nodeId]);
  if (!channel) return 0;
  await tx.query(tellAgain, [nodeId, channel.base]);
  const [told] = await tx.query(goOn, [nodeId, channel.base]);
  return told!.accounts;
}
