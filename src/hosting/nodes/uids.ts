/**
 * A uid is never used twice, but restoring the database also restores the sequence that assigns them. So before a node receives
 * a new uid, it reports the highest that it has; a uid that is not above all that nodes have reported is drawn again. A node that
 * does not answer delays only the accounts that are placed on it.
 */
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { markRestored } from "#hosting/nodes/restored.ts";
import { allCapabilities, type HostingNode, NodeRefused, NodeUnavailable } from "#nodes/driver.ts";

/** More than are assigned between two backups. A node that reports more is wrong, and would use up all uids. */
const uidsLostMax = 10_000_000;

const readGiven = statement(
  "hosting-uid-given",
  "SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END AS highest FROM hosting_uid",
  { highest: "int8" },
);
// No node has received the uid of an account that was only placed. Nodes that keep no version take part in no move.
const wasSent = statement(
  "hosting-uid-was-sent",
  `SELECT EXISTS (SELECT FROM hosting_accounts WHERE uid = $uid AND node_id IS NOT NULL AND NOT must_check_uid)
     AS was_sent`,
  { was_sent: "bool" },
);
const raiseUids = statement("hosting-uid-raise", "SELECT raise_hosting_uid($uid::int8)::text AS raised", {
  raised: "text",
});
const lockSkips = statement(
  "hosting-node-uids-lock",
  "SELECT has_skipped_uids AS has_skipped FROM hosting_nodes WHERE id = $node_id FOR UPDATE",
  { has_skipped: "bool" },
);
const noteSkip = statement(
  "hosting-node-uids-skip",
  "UPDATE hosting_nodes SET has_skipped_uids = true WHERE id = $node_id",
  {},
);
const writeHighest = statement(
  "hosting-node-uid-highest",
  "UPDATE hosting_nodes SET uid_highest = $uid WHERE id = $node_id AND uid_highest < $uid",
  {},
);

/**
 * Asks a node for its highest uid: no uid up to it is assigned any more. A uid that was never assigned shows that the database was
 * restored; for a node without versions, so does one that no node has received.
 * @throws NodeUnavailable, NodeRefused
 */
export async function learnUids(context: Context, node: HostingNode, nodeId: string): Promise<void> {
  const { database } = context;
  const reported = await node.highestUid();
  // Read after the answer: a uid is assigned before a node receives it.
  const [given] = await database.query(readGiven, {});
  const { keepsCounter } = node.capabilities ?? allCapabilities;
  if (reported > given!.highest) await database.transaction((tx) => skipUids(context, tx, nodeId, reported));
  else if (!keepsCounter && reported > 0 && !(await isSent(context, reported))) {
    await database.transaction((tx) => markRestored(context, tx, nodeId, unknownText(reported)));
  }
  await database.query(writeHighest, { node_id: nodeId, uid: reported });
}

const unknownText = (uid: number) => `has the uid ${uid}, which this database has sent to no node`;

/** Once, until an operator continues: a node that then reports another unassigned uid could use up all of them. */
async function skipUids(context: Context, tx: Transaction, nodeId: string, uid: number): Promise<void> {
  // Locks the node's row first, then the sequence, as the start of a move does.
  const [node] = await tx.query(lockSkips, { node_id: nodeId });
  const [given] = await tx.query(readGiven, {});
  if (uid <= given!.highest) return;
  if (!node || node.has_skipped || uid > given!.highest + uidsLostMax) {
    throw new NodeUnavailable(`the node ${nodeId} reports the uid ${uid}, which cannot have been assigned`);
  }
  await markRestored(context, tx, nodeId, unknownText(uid));
  await tx.query(noteSkip, { node_id: nodeId });
  await tx.query(raiseUids, { uid });
}

async function isSent({ database }: Context, uid: number): Promise<boolean> {
  const [sent] = await database.query(wasSent, { uid });
  return sent!.was_sent;
}

/** SQL: `uid`, or the next one if a node may have it. */
const freeUid = (uid: string) =>
  `CASE WHEN ${uid} > (SELECT max(uid_highest) FROM hosting_nodes) THEN ${uid} ELSE nextval('hosting_uid') END`;

/** SQL: a row that has not changed since it was read. */
const isAsRead = "id = $id AND version = $version";

const checkUid = statement(
  "hosting-account-uid-check",
  `UPDATE hosting_accounts SET must_check_uid = false, uid = ${freeUid("uid")} WHERE ${isAsRead} AND must_check_uid
   RETURNING uid, must_check_uid, version`,
  { uid: "int8", must_check_uid: "bool", version: "int8" },
);
const drawUid = statement(
  "hosting-account-uid-draw",
  `UPDATE hosting_accounts SET must_check_uid = true, uid = nextval('hosting_uid') WHERE ${isAsRead}
   RETURNING uid, must_check_uid, version`,
  { uid: "int8", must_check_uid: "bool", version: "int8" },
);

interface PlacedAccount {
  id: number;
  uid: number;
  node_id: string | null;
  must_check_uid: boolean;
  version: number;
}

/**
 * Gives the account a uid that no node has, before its node receives it.
 * @returns undefined when the account has changed in between
 * @throws NodeUnavailable, NodeRefused
 */
export async function withFreeUid<Account extends PlacedAccount>(
  context: Context,
  node: HostingNode,
  account: Account,
): Promise<Account | undefined> {
  if (!account.must_check_uid) return account;
  await learnUids(context, node, account.node_id ?? "");
  const [checked] = await context.database.query(checkUid, { id: account.id, version: account.version });
  return checked && { ...account, ...checked };
}

/** Gives the account another uid, after its node refused the one it has. @returns undefined as above */
export async function withAnotherUid<Account extends PlacedAccount>(
  { database }: Pick<Context, "database">,
  account: Account,
): Promise<Account | undefined> {
  const [drawn] = await database.query(drawUid, { id: account.id, version: account.version });
  return drawn && { ...account, ...drawn };
}

/** Whether the node has, or had, another account with this uid. */
export const isUidConflict = (error: unknown): error is NodeRefused =>
  error instanceof NodeRefused && (error.reason === "uid_taken" || error.reason === "uid_retired");

const checkTargetUid = statement(
  "hosting-move-uid-check",
  `UPDATE hosting_moves SET must_check_uid = false, target_uid = ${freeUid("target_uid")}
   WHERE ${isAsRead} AND must_check_uid RETURNING target_uid, must_check_uid, version`,
  { target_uid: "int8", must_check_uid: "bool", version: "int8" },
);
const drawTargetUid = statement(
  "hosting-move-uid-draw",
  `UPDATE hosting_moves SET must_check_uid = true, target_uid = nextval('hosting_uid') WHERE ${isAsRead}
   RETURNING target_uid, must_check_uid, version`,
  { target_uid: "int8", must_check_uid: "bool", version: "int8" },
);

// Accounts of others on our nodes do not have uids of our sequence.
const isLost = statement(
  "hosting-uid-is-lost",
  `SELECT $uid::int8 >= (SELECT seqstart FROM pg_sequence WHERE seqrelid = 'hosting_uid'::regclass)
     AND NOT EXISTS (SELECT FROM hosting_accounts WHERE uid = $uid)
     AND NOT EXISTS (SELECT FROM hosting_moves WHERE source_uid = $uid)
     AND NOT EXISTS (SELECT FROM hosting_moves WHERE target_uid = $uid) AS is_lost`,
  { is_lost: "bool?" },
);

/** `lost`: the database lost the holder when it was restored. */
export type IdentifierHolder = "nobody" | "lost" | "other";

/**
 * Asks a node which of our accounts has an identifier. It does not show accounts of others.
 * @throws NodeUnavailable, NodeRefused
 */
export async function findIdentifierHolder(
  context: Context,
  node: HostingNode,
  identifier: string,
): Promise<IdentifierHolder> {
  const holder = await node.find(identifier);
  if (!holder) return "nobody";
  const [found] = await context.database.query(isLost, { uid: holder.uid });
  return found?.is_lost ? "lost" : "other";
}

interface CopyingMove {
  id: number;
  version: number;
  target_node_id: string;
  must_check_uid: boolean;
}

/** The same for the copy of an account that moves. @returns undefined when the move has changed in between */
export async function withFreeTargetUid<Move extends CopyingMove>(
  context: Context,
  target: HostingNode,
  move: Move,
): Promise<Move | undefined> {
  if (!move.must_check_uid) return move;
  await learnUids(context, target, move.target_node_id);
  const [checked] = await context.database.query(checkTargetUid, { id: move.id, version: move.version });
  return checked && { ...move, ...checked };
}

/** Gives the move another uid for its copy. @returns undefined as above */
export async function withAnotherTargetUid<Move extends CopyingMove>(
  { database }: { database: Pick<Transaction, "query"> },
  move: Move,
): Promise<Move | undefined> {
  const [drawn] = await database.query(drawTargetUid, { id: move.id, version: move.version });
  return drawn && { ...move, ...drawn };
}
