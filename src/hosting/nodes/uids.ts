/**
 * A uid is never used twice, and the sequence that gives them out comes back with a restored database. So before a node is told
 * of a new one, it is asked for the highest that it has; what is not above all that any node has told is drawn again. A node
 * that does not answer keeps only what is placed on itself waiting.
 */
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { markRestored } from "#hosting/nodes/restored.ts";
import { allCapabilities, type HostingNode, NodeRefused, NodeUnavailable } from "#nodes/driver.ts";

/** More than are given out between two backups. A node that claims more lies, and would use up everybody's uids. */
const uidsLostMax = 10_000_000;

const readGiven = statement(
  "hosting-uid-given",
  "SELECT CASE WHEN is_called THEN last_value ELSE last_value - 1 END AS highest FROM hosting_uid",
  { highest: "int8" },
);
// An account that was only placed has a uid of which no node was told. What keeps no counter takes part in no move.
const wasTold = statement(
  "hosting-uid-was-told",
  `SELECT EXISTS (SELECT FROM hosting_accounts WHERE uid = $1 AND node_id IS NOT NULL AND NOT must_check_uid)
     AS was_told`,
  { was_told: "bool" },
);
const raiseUids = statement("hosting-uid-raise", "SELECT raise_hosting_uid($1::int8)::text AS raised", {
  raised: "text",
});
const lockSkips = statement(
  "hosting-node-uids-lock",
  "SELECT has_skipped_uids AS has_skipped FROM hosting_nodes WHERE id = $1 FOR UPDATE",
  { has_skipped: "bool" },
);
const noteSkip = statement(
  "hosting-node-uids-skip",
  "UPDATE hosting_nodes SET has_skipped_uids = true WHERE id = $1",
  {},
);
const writeHighest = statement(
  "hosting-node-uid-highest",
  "UPDATE hosting_nodes SET uid_highest = $2 WHERE id = $1 AND uid_highest < $2",
  {},
);

/**
 * Asks a node for its highest uid: none up to it is given out any more. One that was never given out here shows that the
 * database was restored; where no counter shows that, also one of which no node was told.
 * @throws NodeUnavailable, NodeRefused
 */
export async function learnUids(context: Context, node: HostingNode, nodeId: string): Promise<void> {
  const { database } = context;
  const told = await node.highestUid();
  // Read after the answer: what a node was told of was given out before.
  const [given] = await database.query(readGiven, []);
  const { keepsCounter } = node.capabilities ?? allCapabilities;
  if (told > given!.highest) await database.transaction((tx) => skipUids(context, tx, nodeId, told));
  else if (!keepsCounter && told > 0 && !(await isTold(context, told))) {
    await database.transaction((tx) => markRestored(context, tx, nodeId, unknownText(told)));
  }
  await database.query(writeHighest, [nodeId, told]);
}

const unknownText = (uid: number) => `has the uid ${uid}, of which this database has told no node`;

/** Once, until an operator goes on: a node that has another one after that, which nobody gave it, would spend them all. */
async function skipUids(context: Context, tx: Transaction, nodeId: string, told: number): Promise<void> {
  // In this order, as whoever begins a move: the node's row first, then the sequence.
  const [node] = await tx.query(lockSkips, [nodeId]);
  const [given] = await tx.query(readGiven, []);
  if (told <= given!.highest) return;
  if (!node || node.has_skipped || told > given!.highest + uidsLostMax) {
    throw new NodeUnavailable(`the node ${nodeId} tells of the uid ${told}, which cannot have been given out`);
  }
  await markRestored(context, tx, nodeId, unknownText(told));
  await tx.query(noteSkip, [nodeId]);
  await tx.query(raiseUids, [told]);
}

async function isTold({ database }: Context, uid: number): Promise<boolean> {
  const [told] = await database.query(wasTold, [uid]);
  return told!.was_told;
}

/** SQL: `uid`, or the next one when nodes may have it. */
const freeUid = (uid: string) =>
  `CASE WHEN ${uid} > (SELECT max(uid_highest) FROM hosting_nodes) THEN ${uid} ELSE nextval('hosting_uid') END`;

/** SQL: an account that nobody else has changed since it was read. */
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
 * The account with a uid that no node has, before its node is told of it.
 * @returns nothing when somebody else has changed the account
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

/** The account with another uid, after its node refused the one it has. @returns nothing as above */
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

// Nobody else's accounts are on our nodes with uids of ours.
const isLost = statement(
  "hosting-uid-is-lost",
  `SELECT $1::int8 >= (SELECT seqstart FROM pg_sequence WHERE seqrelid = 'hosting_uid'::regclass)
     AND NOT EXISTS (SELECT FROM hosting_accounts WHERE uid = $1)
     AND NOT EXISTS (SELECT FROM hosting_moves WHERE $1 IN (source_uid, target_uid)) AS is_lost`,
  { is_lost: "bool?" },
);

/** Whether a node has an account of this identifier that was lost with a former state of the database. */
export async function isHeldByLostAccount(context: Context, node: HostingNode, identifier: string): Promise<boolean> {
  const holder = await node.find(identifier);
  if (!holder) return false;
  const [found] = await context.database.query(isLost, [holder.uid]);
  return found?.is_lost ?? false;
}

interface CopyingMove {
  id: number;
  version: number;
  target_node_id: string;
  must_check_uid: boolean;
}

/** The same for the copy of an account that moves. @returns nothing when the move is in other hands */
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

/** The move with another uid for its copy. @returns nothing as above */
export async function withAnotherTargetUid<Move extends CopyingMove>(
  { database }: { database: Pick<Transaction, "query"> },
  move: Move,
): Promise<Move | undefined> {
  const [drawn] = await database.query(drawTargetUid, { id: move.id, version: move.version });
  return drawn && { ...move, ...drawn };
}
