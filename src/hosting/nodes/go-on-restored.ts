/** Keeps a restored database for one node, after an operator has decided so. */
import { resolveAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { tellEverything } from "#hosting/channel/restore.ts";
import { OperatorError } from "#operator-error.ts";

const readNode = statement("hosting-node-restored-node", "SELECT restored_at FROM hosting_nodes WHERE id = $node_id", {
  restored_at: "timestamptz?",
});
const unmarkNode = statement(
  "hosting-node-restored-unmark",
  "UPDATE hosting_nodes SET restored_at = NULL, has_skipped_uids = false WHERE id = $node_id",
  {},
);

// An account that is being provisioned has nothing to remove. One that a stray blocks retries on its own.
const isWaitingAccount = `node_id = $node_id AND applied_version < wanted_version AND status NOT IN ('Failed', 'Removed')
     AND (status <> 'Provisioning' OR removal_requested_at IS NOT NULL OR error_text IS NOT NULL)`;
const waitingAccounts = statement(
  "hosting-node-restored-accounts",
  `SELECT identifier, removal_requested_at IS NOT NULL AS is_removal FROM hosting_accounts
   WHERE ${isWaitingAccount} ORDER BY identifier`,
  { identifier: "text", is_removal: "bool" },
);
const wakeWaitingAccounts = statement(
  "hosting-node-restored-accounts-call",
  `UPDATE hosting_accounts SET next_step_at = $now FROM (
     SELECT id FROM hosting_accounts WHERE ${isWaitingAccount} ORDER BY id FOR NO KEY UPDATE) AS waiting
   WHERE hosting_accounts.id = waiting.id`,
  {},
);
const isWaitingMove = `ended_at IS NULL
     AND (hosting_moves.state = 'Leaving' AND source_node_id = $node_id OR hosting_moves.state = 'Returning' AND target_node_id = $node_id)`;
const waitingMoves = statement(
  "hosting-node-restored-moves",
  `SELECT identifier FROM hosting_moves JOIN hosting_accounts AS account ON account.id = account_id
   WHERE ${isWaitingMove} ORDER BY identifier`,
  { identifier: "text" },
);
const wakeWaitingMoves = statement(
  "hosting-node-restored-moves-call",
  `UPDATE hosting_moves SET next_step_at = $now FROM (
     SELECT id FROM hosting_moves WHERE ${isWaitingMove} ORDER BY id FOR NO KEY UPDATE) AS waiting
   WHERE hosting_moves.id = waiting.id`,
  {},
);
const countStates = statement(
  "hosting-node-restored-states",
  "SELECT count(*) FILTER (WHERE state IS NOT NULL) AS accounts FROM node_states WHERE node_id = $node_id",
  { accounts: "int8" },
);

export interface RestoredNode {
  since: Date;
  /** What will be removed there, by identifier: accounts, and copies that moves have left. */
  removals: string[];
  /** Accounts whose states are sent again; only to a node with an agent. */
  accountsToResend: number;
}

/** Describes what `goOnAfterRestore` would do. @throws OperatorError when the node does not know more than this database */
export async function describeRestored(
  { database }: { database: Pick<Transaction, "query"> },
  nodeId: string,
): Promise<RestoredNode> {
  const [node] = await database.query(readNode, { node_id: nodeId });
  const since = sinceWhen(nodeId, node);
  const accounts = await database.query(waitingAccounts, { node_id: nodeId });
  const moves = await database.query(waitingMoves, { node_id: nodeId });
  const [states] = await database.query(countStates, { node_id: nodeId });
  const removed = accounts.filter(({ is_removal }) => is_removal);
  return {
    since,
    removals: [...removed, ...moves].map(({ identifier }) => identifier),
    accountsToResend: states!.accounts,
  };
}

/**
 * Carries out the removals that wait there, and sends a node with an agent everything in this database again. Whatever else the
 * node has stays there, and is a stray for a comparison.
 * @throws OperatorError as above
 */
export async function goOnAfterRestore(
  context: Pick<Context, "database" | "clock" | "log">,
  nodeId: string,
): Promise<{ accountsResent: number }> {
  return context.database.transaction(async (tx) => {
    const [node] = await tx.query(readNode, { node_id: nodeId });
    sinceWhen(nodeId, node);
    // Locks the channel's row before the node's, as for a node that turns out to be ahead.
    const accountsResent = await tellEverything(tx, nodeId);
    // Locks accounts before nodes, as everywhere else.
    const waiting = { node_id: nodeId, now: context.clock.now() };
    await tx.query(wakeWaitingAccounts, waiting);
    await tx.query(wakeWaitingMoves, waiting);
    await tx.query(unmarkNode, { node_id: nodeId });
    await resolveAlarm(context, { kind: "hosting-node-restored", subject: nodeId }, tx);
    return { accountsResent };
  });
}

function sinceWhen(nodeId: string, node: { restored_at: Date | null } | undefined): Date {
  if (!node) throw new OperatorError("not-found", `there is no hosting node ${nodeId}: deedhouse node list shows them`);
  if (node.restored_at) return node.restored_at;
  const why = "knows nothing beyond this database: there is nothing to do";
  throw new OperatorError("refused", `the node ${nodeId} ${why}`);
}
