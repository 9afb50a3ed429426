/**
 * Lets accounts and moves whose jobs wait for their next try do it now. Nothing is lost if this does not happen: each of
 * them tries again by itself, but after long failures only every five minutes.
 */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { lockAccount } from "#hosting/accounts/live-account.ts";
import { getNode } from "#hosting/nodes/manage.ts";
import { OperatorError } from "#operator-error.ts";
import { enqueueProvision, moveTask, provisionTask } from "#queue/enqueue.ts";
import type { OperatorContext } from "#resellers/create.ts";

/** Of one node at once; the others follow by themselves. */
const wokenMax = 1_000;

const wakeAccountsOn = statement(
  "hosting-accounts-wake-on-node",
  `SELECT count(call_job('${provisionTask}', json_build_object('accountId', id), 'account:' || id)) AS woken FROM (
     SELECT id FROM hosting_accounts
     WHERE node_id = $1 AND status NOT IN ('Failed', 'Removed') AND next_step_at > $2
     ORDER BY next_step_at LIMIT $3) AS waiting`,
  { woken: "int8" },
);
const wakeMovesOn = statement(
  "hosting-moves-wake-on-node",
  `SELECT count(call_job('${moveTask}', json_build_object('moveId', id), 'move:' || id)) AS woken FROM (
     SELECT id FROM hosting_moves
     WHERE $1 IN (source_node_id, target_node_id) AND ended_at IS NULL AND next_step_at > $2
     ORDER BY next_step_at LIMIT $3) AS waiting`,
  { woken: "int8" },
);

/** @returns how many accounts and moves that wait on this node try now */
export async function wakeOnNode(
  { database, clock }: Pick<Context, "database" | "clock">,
  nodeId: string,
): Promise<{ accounts: number; moves: number }> {
  const values = [nodeId, clock.now(), wokenMax];
  const [accounts] = await database.query(wakeAccountsOn, values);
  const [moves] = await database.query(wakeMovesOn, values);
  return { accounts: accounts?.woken ?? 0, moves: moves?.woken ?? 0 };
}

/** What began before a node was back may fail this long after: an operation's time is over then at the latest. */
const stragglerMs = 60_000;

export interface Returns {
  /** Call it for each answer of the node. */
  answered(): Promise<void>;
  /** Call it for each question that the node has not answered. */
  failed(): void;
}

/**
 * Wakes what waits on a node with its first answer after a silence, and once more when everything is over that was begun
 * in the silence. Also with the first answer of all: nobody here knows how long the node was away before.
 */
export function watchReturns(context: Pick<Context, "database" | "clock" | "log">, nodeId: string): Returns {
  const { clock, log } = context;
  let isAway = true;
  let wakeAgainMs = Number.POSITIVE_INFINITY;
  return {
    async answered() {
      const nowMs = clock.monotonicMs();
      if (!isAway && nowMs < wakeAgainMs) return;
      const woken = await wakeOnNode(context, nodeId);
      wakeAgainMs = isAway ? nowMs + stragglerMs : Number.POSITIVE_INFINITY;
      isAway = false;
      if (woken.accounts + woken.moves > 0)
        log.info({ node: nodeId, ...woken }, "the node is back: what waits tries now");
    },
    failed() {
      isAway = true;
    },
  };
}

/** An operator's wish: the account tries now. @throws OperatorError when there is nothing to try */
export async function retryAccount(
  context: OperatorContext,
  text: string,
): Promise<{ id: number; identifier: string }> {
  return context.database.transaction(async (tx) => {
    const account = await lockAccount(tx, text);
    if (account.status === "Failed") {
      throw new OperatorError("refused", `${account.identifier} is Failed: create it again, its identifier is free`);
    }
    await enqueueProvision(tx, account.id, 0);
    return account;
  });
}

/** The same for all that waits on a node. @throws OperatorError when there is no such node */
export async function retryNode(
  context: OperatorContext,
  nodeId: string,
): Promise<{ accounts: number; moves: number }> {
  await getNode(context, nodeId);
  return wakeOnNode(context, nodeId);
}
