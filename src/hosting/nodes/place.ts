/**
 * Which node an account goes to. A node's committed bytes and count of accounts are kept by the transactions that place,
 * end and move accounts, under the node's row lock; so however many are placed at once, no node is given more than it
 * has room for. Whoever locks an account and nodes locks the account first.
 */
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { hasAgent } from "#hosting/nodes/nodes.ts";

/** Tells workers that accounts without a node may get one now. Its payload: how many may try. */
export const roomFreedChannel = "hosting_room_freed";

/** SQL: a node that may be asked: not $3, and if $4 is given, only that. Accounts that move from $3 cannot go to a panel. */
const isAsked = "id IS DISTINCT FROM $3 AND id = coalesce($4, id) AND ($3 IS NULL OR kind <> 'cpanel')";

/** SQL: a node that has its machine. */
const isJoined = `(NOT (${hasAgent})
     OR EXISTS (SELECT FROM node_channels WHERE node_id = hosting_nodes.id AND public_key IS NOT NULL))`;

/** SQL: a node that takes an account of $1 bytes with the tags $2. */
const fits = `NOT is_draining AND ${isJoined} AND tags @> $2::text[] AND accounts_count < accounts_max
     AND capacity_bytes - committed_bytes >= $1::int8`;

// The condition stands twice: the inner one chooses, the outer one is checked again under the row's lock, when others
// have placed accounts there meanwhile.
const reserveRoomiest = statement(
  "hosting-node-reserve-roomiest",
  `UPDATE hosting_nodes SET committed_bytes = committed_bytes + $1::int8, accounts_count = accounts_count + 1
   WHERE id = (SELECT id FROM hosting_nodes WHERE ${isAsked} AND ${fits}
               ORDER BY capacity_bytes - committed_bytes DESC, id LIMIT 1)
     AND ${fits}
   RETURNING id`,
  { id: "text" },
);

const roomSurvey = statement(
  "hosting-node-survey",
  `SELECT count(*) AS nodes, count(*) FILTER (WHERE tags @> $2::text[]) AS tagged,
     count(*) FILTER (WHERE tags @> $2::text[] AND is_draining) AS draining,
     count(*) FILTER (WHERE tags @> $2::text[] AND NOT is_draining AND NOT ${isJoined}) AS unjoined,
     coalesce(bool_or(${fits}), false) AS has_room
   FROM hosting_nodes WHERE ${isAsked}`,
  { nodes: "int8", tagged: "int8", draining: "int8", unjoined: "int8", has_room: "bool" },
);

const lockUnplaced = statement(
  "hosting-account-lock-unplaced",
  `SELECT id FROM hosting_accounts
   WHERE id = $1 AND status = 'Provisioning' AND node_id IS NULL AND error_text IS NULL FOR UPDATE`,
  { id: "int8" },
);

const releaseRoom = statement(
  "hosting-node-release",
  `UPDATE hosting_nodes SET committed_bytes = greatest(committed_bytes - $2::int8, 0),
     accounts_count = greatest(accounts_count - 1, 0) WHERE id = $1`,
  {},
);

const changeRoom = statement(
  "hosting-node-change-committed",
  "UPDATE hosting_nodes SET committed_bytes = greatest(committed_bytes + $2::int8, 0) WHERE id = $1",
  {},
);

// After this transaction, which holds a node's row: whoever locks an account and nodes locks the account first.
const tellOfRoom = statement(
  "hosting-room-freed",
  `SELECT pg_notify('${roomFreedChannel}', $accounts_max::text)::text AS notified`,
  { notified: "text" },
);

/** What one change of a node's room wakes. */
const wokenMax = 1_000;
/** What one account that has ended wakes. */
const wokenByOneMax = 5;

export type Reservation = { nodeId: string } | { nodeId?: undefined; note: string };

/**
 * Commits room on the node with the most of it.
 * @param except a node that is not asked; `only`: no other is asked
 * @returns the node, or a sentence on why there is none
 */
export async function reserveRoom(
  tx: Pick<Transaction, "query">,
  diskBytes: number,
  nodeTags: readonly string[],
  { except, only }: { except?: string; only?: string | undefined } = {},
): Promise<Reservation> {
  const wanted = [diskBytes, nodeTags, except ?? null, only ?? null];
  for (;;) {
    const [reserved] = await tx.query(reserveRoomiest, wanted);
    if (reserved) return { nodeId: reserved.id };
    const [survey] = await tx.query(roomSurvey, wanted);
    if (!survey) throw new Error("the survey of nodes returned no row");
    // The node chosen was filled by others meanwhile, and there is another.
    if (survey.has_room) continue;
    if (survey.nodes === 0) return { note: "no hosting node is configured" };
    if (survey.tagged === 0) return { note: `no hosting node has the tags ${nodeTags.join(", ")}` };
    const { tagged, draining, unjoined } = survey;
    const reasons = { full: tagged - draining - unjoined, draining, "without their machine": unjoined };
    const told = Object.entries(reasons).filter(([, count]) => count > 0);
    return { note: `no hosting node has room: ${told.map(([reason, count]) => `${count} ${reason}`).join(", ")}` };
  }
}

/**
 * Chooses the node of an account and commits its room there, in the transaction that then writes `placed`.
 * @returns the node, or why there is none; nothing when somebody else has changed the account
 */
export async function placeAccount(
  tx: Pick<Transaction, "query">,
  account: { id: number; disk_quota_bytes: number },
  nodeTags: readonly string[],
): Promise<Reservation | undefined> {
  const [locked] = await tx.query(lockUnplaced, [account.id]);
  return locked && reserveRoom(tx, account.disk_quota_bytes, nodeTags);
}

/** Gives an account's room back, in the transaction that ends it. */
export async function releaseRoomOf(
  tx: Pick<Transaction, "query">,
  account: { node_id: string | null; disk_quota_bytes: number },
): Promise<void> {
  if (account.node_id !== null) await releaseRoomOn(tx, account.node_id, account.disk_quota_bytes);
}

/** Gives what was reserved back, and lets those try that wait for room. */
export async function releaseRoomOn(tx: Pick<Transaction, "query">, nodeId: string, bytes: number): Promise<void> {
  await tx.query(releaseRoom, [nodeId, bytes]);
  await tx.query(tellOfRoom, { accounts_max: wokenByOneMax });
}

/** Another disk quota of an account that stays where it is, in the transaction that writes it. */
export async function changeCommittedBytes(
  tx: Pick<Transaction, "query">,
  nodeId: string,
  differenceBytes: number,
): Promise<void> {
  await tx.query(changeRoom, [nodeId, differenceBytes]);
}

/** Lets the accounts that wait for a node try at once: for whoever adds a node, or gives one more room. */
export async function wakeUnplaced(tx: Pick<Transaction, "query">): Promise<void> {
  await tx.query(tellOfRoom, { accounts_max: wokenMax });
}
