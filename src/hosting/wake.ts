/**
 * Lets accounts and moves that wait for their next try do it now. Nothing is lost if this does not happen: each of
 * them tries again by itself, but after long failures only every five minutes.
 */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { callAccountNow } from "#hosting/accounts/accounts.ts";
import { lockAccount } from "#hosting/accounts/live-account.ts";
import { getNode } from "#hosting/nodes/manage.ts";
import { roomFreedChannel } from "#hosting/nodes/place.ts";
import { OperatorError } from "#operator-error.ts";
import type { OperatorContext } from "#resellers/create.ts";

/** Of one node at once; the others follow by themselves. */
const wokenMax = 1_000;

// In one order for all, so that two transactions cannot wait for each other.
const wakeAccountsOn = statement(
  "hosting-accounts-wake-on-node",
  `WITH waiting AS (
     SELECT id FROM hosting_accounts
     WHERE id IN (SELECT id FROM hosting_accounts
       WHERE node_id = $node_id AND status NOT IN ('Failed', 'Removed') AND next_step_at > $now
       ORDER BY next_step_at LIMIT $rows_max) ORDER BY id FOR NO KEY UPDATE),
   woken AS (UPDATE hosting_accounts SET next_step_at = $now FROM waiting WHERE hosting_accounts.id = waiting.id RETURNING 1)
   SELECT count(*) AS woken FROM woken`,
  { woken: "int8" },
);
const wakeMovesOn = statement(
  "hosting-moves-wake-on-node",
  `WITH waiting AS (
     SELECT id FROM hosting_moves
     WHERE $node_id IN (source_node_id, target_node_id) AND ended_at IS NULL AND next_step_at > $now
     ORDER BY id LIMIT $rows_max FOR NO KEY UPDATE),
   woken AS (UPDATE hosting_moves SET next_step_at = $now FROM waiting WHERE hosting_moves.id = waiting.id RETURNING 1)
   SELECT count(*) AS woken FROM woken`,
  { woken: "int8" },
);

// The ones that wait longest go first: what does not fit now waits for its own next try. Who waits is not what it shall be,
// and those have an index: without it each removal read all accounts, 75 ms of 300,000.
const wakeUnplacedAccounts = statement(
  "hosting-accounts-wake-unplaced",
  `UPDATE hosting_accounts SET next_step_at = $now FROM (
     SELECT id FROM hosting_accounts
     WHERE status = 'Provisioning' AND node_id IS NULL AND applied_version < wanted_version
     ORDER BY id LIMIT $rows_max FOR NO KEY UPDATE) AS unplaced
   WHERE hosting_accounts.id = unplaced.id`,
  {},
);

/** Lets accounts that wait for a node try when there is room, until it is closed. */
export function wakeUnplacedOnRoom({
  clock,
  database,
  listener,
  log,
}: Pick<Context, "clock" | "database" | "listener" | "log">): { close(): void } {
  const wake = (rowsMax: number) =>
    database.query(wakeUnplacedAccounts, { rows_max: rowsMax, now: clock.now() }).catch((error: unknown) => {
      log.warn({ err: error }, "the accounts that wait for a node could not be woken; each tries again by itself");
    });
  const handlers = [
    listener.on(roomFreedChannel, (payload) => void wake(Number(payload))),
    listener.onReconnect(() => void wake(wokenMax)),
  ];
  return {
    close() {
      for (const end of handlers) end();
    },
  };
}

/** @returns how many accounts and moves that wait on this node try now */
export async function wakeOnNode(
  { database, clock }: Pick<Context, "database" | "clock">,
  nodeId: string,
): Promise<{ accounts: number; moves: number }> {
  const values = { node_id: nodeId, now: clock.now(), rows_max: wokenMax };
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
    await callAccountNow(context, tx, account.id);
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
