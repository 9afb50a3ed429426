/**
 * Makes accounts and moves that wait for a retry due now. Nothing is lost without it: each retries by itself, but after long
 * failures only every five minutes.
 */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { makeAccountDue } from "#hosting/accounts/accounts.ts";
import { lockAccount } from "#hosting/accounts/find-account.ts";
import { getNode } from "#hosting/nodes/manage.ts";
import { roomFreedChannel } from "#hosting/nodes/place.ts";
import { OperatorError } from "#operator-error.ts";
import type { OperatorContext } from "#resellers/create.ts";

/** Of one node at once; the others retry by themselves. */
const wokenMax = 1_000;

// Always in the same order, so that transactions cannot deadlock.
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

// Oldest first; accounts that do not fit retry by themselves. The condition on the versions uses the index of pending accounts:
// without it, each removal read all accounts, 75 ms for 300,000.
const wakeUnplacedAccounts = statement(
  "hosting-accounts-wake-unplaced",
  `UPDATE hosting_accounts SET next_step_at = $now FROM (
     SELECT id FROM hosting_accounts
     WHERE status = 'Provisioning' AND node_id IS NULL AND applied_version < wanted_version
     ORDER BY id LIMIT $rows_max FOR NO KEY UPDATE) AS unplaced
   WHERE hosting_accounts.id = unplaced.id`,
  {},
);

/** Until it is closed, makes accounts that wait for a node due when there is room. */
export function wakeUnplacedOnRoom({
  clock,
  database,
  listener,
  log,
}: Pick<Context, "clock" | "database" | "listener" | "log">): { close(): void } {
  const wake = (rowsMax: number) => {
    database.query(wakeUnplacedAccounts, { rows_max: rowsMax, now: clock.now() }).catch((error: unknown) => {
      log.warn({ err: error }, "the accounts that wait for a node could not be woken; each retries by itself");
    });
  };
  const handlers = [
    listener.on(roomFreedChannel, (payload) => wake(Number(payload))),
    listener.onReconnect(() => wake(wokenMax)),
  ];
  return {
    close() {
      for (const end of handlers) end();
    },
  };
}

/** @returns how many accounts and moves that waited for this node are due now */
export async function wakeOnNode(
  { database, clock }: Pick<Context, "database" | "clock">,
  nodeId: string,
): Promise<{ accounts: number; moves: number }> {
  const values = { node_id: nodeId, now: clock.now(), rows_max: wokenMax };
  const [accounts] = await database.query(wakeAccountsOn, values);
  const [moves] = await database.query(wakeMovesOn, values);
  return { accounts: accounts?.woken ?? 0, moves: moves?.woken ?? 0 };
}

/** An operation that began while a node was away may fail until this long after its return. */
const stragglerMs = 60_000;

export interface Returns {
  /** Call it for each answer of the node. */
  answered(): Promise<void>;
  /** Call it for each request that the node has not answered. */
  failed(): void;
}

/**
 * Wakes what waits for a node at its first answer after a silence, and again when all operations from the silence have ended.
 * The very first answer counts too: this process does not know how long the node was away.
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
        log.info({ node: nodeId, ...woken }, "the node is back: pending work is retried now");
    },
    failed() {
      isAway = true;
    },
  };
}

/** For operators: makes the account due now. @throws OperatorError when there is nothing to retry */
export async function retryAccount(
  context: OperatorContext,
  text: string,
): Promise<{ id: number; identifier: string }> {
  return context.database.transaction(async (tx) => {
    const account = await lockAccount(tx, text);
    if (account.status === "Failed") {
      throw new OperatorError("refused", `${account.identifier} is Failed: create it again, its identifier is free`);
    }
    await makeAccountDue(context, tx, account.id);
    return account;
  });
}

/** For operators: the same for everything that waits for a node. @throws OperatorError when there is no such node */
export async function retryNode(
  context: OperatorContext,
  nodeId: string,
): Promise<{ accounts: number; moves: number }> {
  await getNode(context, nodeId);
  return wakeOnNode(context, nodeId);
}
