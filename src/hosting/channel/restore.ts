/** Goes on with nodes that know more than the database, after a backup was restored. */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { nodeDesiredChannel } from "#hosting/channel/channels.ts";
import { OperatorError } from "#resellers/operator-error.ts";

const readAhead = statement(
  "node-restore-read",
  "SELECT greatest(head, ahead_version) AS base, ahead_version FROM node_channels WHERE node_id = $1 FOR UPDATE",
  { base: "int8?", ahead_version: "int8?" },
);
const tellAgain = statement(
  "node-restore-states",
  `UPDATE node_states SET version = $2 + place, held_version = NULL, held_state = NULL, held_hash_sealed = NULL
   FROM (SELECT uid, row_number() OVER (ORDER BY version) AS place FROM node_states WHERE node_id = $1) AS ordered
   WHERE node_id = $1 AND node_states.uid = ordered.uid`,
  {},
);
/** More accounts than can have been made since any backup. */
const uidsSkipped = 1_000_000;
// The sequence was restored too, and what it would give next was given before to accounts that the node may still have.
const skipUids = statement(
  "node-restore-uids",
  `SELECT setval('hosting_uid', nextval('hosting_uid') + ${uidsSkipped})::int8 AS uid`,
  { uid: "int8" },
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
 * Makes what this database says the node's state again: every account it knows is told to the node anew. What the node
 * holds beside them stays there and is named by a reconcile; no uid of it is given out again.
 * @returns how many accounts are told
 * @throws OperatorError when the node is not ahead of the database
 */
export async function continueAfterRestore({ database }: Pick<Context, "database">, nodeId: string): Promise<number> {
  return database.transaction(async (tx) => {
    const [channel] = await tx.query(readAhead, [nodeId]);
    if (!channel) throw new OperatorError("not-found", `no machine has joined as the node ${nodeId}`);
    if (channel.ahead_version === null) {
      throw new OperatorError(
        "refused",
        `the node ${nodeId} knows nothing beyond this database: there is nothing to do`,
      );
    }
    await tx.query(skipUids, []);
    await tx.query(tellAgain, [nodeId, channel.base]);
    const [told] = await tx.query(goOn, [nodeId, channel.base]);
    return told!.accounts;
  });
}
