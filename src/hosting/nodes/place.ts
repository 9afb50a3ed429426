/**
 * Chooses the node of an account. The transactions that place, end and move accounts keep a node's committed bytes and its count
 * of accounts under the lock of the node's row, so concurrent placements never exceed a node's room. A transaction that locks
 * an account and nodes locks the account first.
 */
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { hasAgent } from "#hosting/nodes/nodes.ts";

/** Notifies workers that accounts without a node may get one now. The payload is how many of them may retry. */
export const roomFreedChannel = "hosting_room_freed";

/** SQL: a candidate: not $except, and only $only if that is given. Accounts that move from $except cannot go to a panel. */
const isCandidate =
  "id IS DISTINCT FROM $except AND id = coalesce($only, id) AND ($except IS NULL OR kind <> 'cpanel')";

/** SQL: a node whose server has joined, if it needs one. */
const isJoined = `(NOT (${hasAgent})
     OR EXISTS (SELECT FROM node_channels WHERE node_id = hosting_nodes.id AND public_key IS NOT NULL))`;

/** SQL: a node with room for an account of $disk_bytes, and with the tags $tags. */
const fits = `NOT is_draining AND ${isJoined} AND tags @> $tags::text[] AND accounts_count < accounts_max
     AND capacity_bytes - committed_bytes >= $disk_bytes::int8`;

// The condition occurs twice: the inner one chooses, the outer one is checked again under the row's lock, because other
// transactions may have placed accounts there in between.
const reserveRoomiest = statement(
  "hosting-node-reserve-roomiest",
  `UPDATE hosting_nodes SET committed_bytes = committed_bytes + $disk_bytes::int8, accounts_count = accounts_count + 1
   WHERE id = (SELECT id FROM hosting_nodes WHERE ${isCandidate} AND ${fits}
               ORDER BY capacity_bytes - committed_bytes DESC, id LIMIT 1)
     AND ${fits}
   RETURNING id`,
  { id: "text" },
);

const roomSurvey = statement(
  "hosting-node-survey",
  `SELECT count(*) AS nodes, count(*) FILTER (WHERE tags @> $tags::text[]) AS tagged,
     count(*) FILTER (WHERE tags @> $tags::text[] AND is_draining) AS draining,
     count(*) FILTER (WHERE tags @> $tags::text[] AND NOT is_draining AND NOT ${isJoined}) AS unjoined,
     coalesce(bool_or(${fits}), false) AS has_room
   FROM hosting_nodes WHERE ${isCandidate}`,
  { nodes: "int8", tagged: "int8", draining: "int8", unjoined: "int8", has_room: "bool" },
);

const lockUnplaced = statement(
  "hosting-account-lock-unplaced",
  `SELECT id FROM hosting_accounts
   WHERE id = $account_id AND status = 'Provisioning' AND node_id IS NULL AND error_text IS NULL FOR UPDATE`,
  { id: "int8" },
);

const releaseRoom = statement(
  "hosting-node-release",
  `UPDATE hosting_nodes SET committed_bytes = greatest(committed_bytes - $bytes::int8, 0),
     accounts_count = greatest(accounts_count - 1, 0) WHERE id = $node_id`,
  {},
);

const changeRoom = statement(
  "hosting-node-change-committed",
  "UPDATE hosting_nodes SET committed_bytes = greatest(committed_bytes + $bytes::int8, 0) WHERE id = $node_id",
  {},
);

// A notification, because this transaction holds a node's row, and accounts are locked before nodes.
const notifyRoom = statement(
  "hosting-room-freed",
  `SELECT notify_after_commit('${roomFreedChannel}', $accounts_max::text)::text AS notified`,
  { notified: "text" },
);

/** Accounts that a change of a node's room wakes. */
const wokenMax = 1_000;
/** Accounts that the end of one account wakes. */
const wokenByOneMax = 5;

export type Reservation = { nodeId: string } | { nodeId?: undefined; note: string };

/**
 * Commits room on the node with the most of it.
 * @param except a node to leave out; `only`: the only candidate
 * @returns the node, or a sentence on why there is none
 */
export async function reserveRoom(
  tx: Pick<Transaction, "query">,
  diskBytes: number,
  nodeTags: readonly string[],
  { except, only }: { except?: string; only?: string | undefined } = {},
): Promise<Reservation> {
  const wanted = { disk_bytes: diskBytes, tags: nodeTags, except: except ?? null, only: only ?? null };
  for (;;) {
    const [reserved] = await tx.query(reserveRoomiest, wanted);
    if (reserved) return { nodeId: reserved.id };
    const [survey] = await tx.query(roomSurvey, wanted);
    if (!survey) throw new Error("the survey of nodes returned no row");
    // Other transactions have filled the chosen node, and another one has room.
    if (survey.has_room) continue;
    if (survey.nodes === 0)
      return { note: only === undefined ? "no hosting node is configured" : "there is no such node" };
    if (survey.tagged === 0) return { note: `no hosting node has the tags ${nodeTags.join(", ")}` };
    const { tagged, draining, unjoined } = survey;
    const reasons = { full: tagged - draining - unjoined, draining, "without their server": unjoined };
    const counts = Object.entries(reasons).filter(([, count]) => count > 0);
    return { note: `no hosting node has room: ${counts.map(([reason, count]) => `${count} ${reason}`).join(", ")}` };
  }
}

/**
 * Chooses the node of an account and commits its room there, in the transaction that then writes `placed`.
 * @returns the node, or why there is none; undefined when the account has changed in between
 */
export async function placeAccount(
  tx: Pick<Transaction, "query">,
  account: { id: number; disk_quota_bytes: number },
  nodeTags: readonly string[],
): Promise<Reservation | undefined> {
  const [locked] = await tx.query(lockUnplaced, { account_id: account.id });
  return locked && reserveRoom(tx, account.disk_quota_bytes, nodeTags);
}

/** Releases an account's room, in the transaction that ends it. */
export async function releaseRoomOf(
  tx: Pick<Transaction, "query">,
  account: { node_id: string | null; disk_quota_bytes: number },
): Promise<void> {
  if (account.node_id !== null) await releaseRoomOn(tx, account.node_id, account.disk_quota_bytes);
}

/** Releases reserved room, and wakes accounts that wait for room. */
export async function releaseRoomOn(tx: Pick<Transaction, "query">, nodeId: string, bytes: number): Promise<void> {
  await tx.query(releaseRoom, { node_id: nodeId, bytes });
  await tx.query(notifyRoom, { accounts_max: wokenByOneMax });
}

/** For a new disk quota of an account that stays on its node, in the transaction that writes it. */
export async function changeCommittedBytes(
  tx: Pick<Transaction, "query">,
  nodeId: string,
  differenceBytes: number,
): Promise<void> {
  await tx.query(changeRoom, { node_id: nodeId, bytes: differenceBytes });
}

/** Wakes the accounts that wait for a node. Call it after a node was added or got more room. */
export async function wakeUnplaced(tx: Pick<Transaction, "query">): Promise<void> {
  await tx.query(notifyRoom, { accounts_max: wokenMax });
}
