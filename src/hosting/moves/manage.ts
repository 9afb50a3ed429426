/** Moves, for operators: the list, ending one early, and emptying a node. */
import { statement } from "#db/statement.ts";
import { hostingStatuses } from "#hosting/accounts/states.ts";
import { startMove } from "#hosting/moves/move.ts";
import { moveStates } from "#hosting/moves/states.ts";
import { OperatorError } from "#operator-error.ts";
import type { OperatorContext } from "#resellers/create.ts";

const moveReport = statement(
  "operator-moves",
  `SELECT identifier, state, source_node_id AS from_node, target_node_id AS to_node, files_done, files_total, bytes_done,
     note, reason, hosting_moves.next_step_at, hosting_moves.created_at AS since, switched_at, ended_at
   FROM hosting_moves JOIN hosting_accounts AS account ON account.id = account_id
   WHERE (hosting_moves.id = $id OR $id IS NULL) AND ($all OR ended_at IS NULL)
   ORDER BY hosting_moves.id DESC LIMIT $rows_max`,
  {
    identifier: "text",
    state: moveStates,
    from_node: "text",
    to_node: "text",
    files_done: "int4",
    files_total: "int4",
    bytes_done: "int8",
    note: "text?",
    reason: "text?",
    next_step_at: "timestamptz?",
    since: "timestamptz",
    switched_at: "timestamptz?",
    ended_at: "timestamptz?",
  },
);

type DatabaseContext = Pick<OperatorContext, "database">;

/** Newest first. @param all includes moves that have ended */
export async function listMoves({ database }: DatabaseContext, { all, limit }: { all: boolean; limit: number }) {
  return database.query(moveReport, { id: null, all, rows_max: limit });
}

export async function getMove({ database }: DatabaseContext, moveId: number) {
  const [move] = await database.query(moveReport, { id: moveId, all: true, rows_max: 1 });
  if (!move) throw new OperatorError("not-found", `there is no move ${moveId}`);
  return move;
}

const endMoveOf = statement(
  "hosting-move-end",
  `UPDATE hosting_moves SET is_cancelled = true, next_step_at = $now, updated_at = $now FROM hosting_accounts AS account
   WHERE account.id = account_id AND identifier = $identifier AND ended_at IS NULL
     AND hosting_moves.state = ANY ($states::text[])
   RETURNING hosting_moves.id`,
  { id: "int8" },
);

/**
 * Ends a move early. `cancel`, before the switch: the account stays on its node. `finish`, after it: the old node is left at
 * once.
 * @throws OperatorError when there is no such move
 */
export async function endMove(
  { database, clock }: Pick<OperatorContext, "database" | "clock">,
  identifier: string,
  how: "cancel" | "finish",
): Promise<number> {
  const states = how === "cancel" ? ["Copying", "Freezing", "Finishing"] : ["Leaving"];
  const [move] = await database.query(endMoveOf, { identifier, states, now: clock.now() });
  if (!move) {
    const what = how === "cancel" ? "that has not switched nodes yet" : "that is only waiting to leave its old node";
    throw new OperatorError("not-found", `there is no move of ${identifier} ${what}: see deedhouse moves list`);
  }
  return move.id;
}

const accountsToMove = statement(
  "hosting-accounts-to-move",
  `SELECT identifier, status FROM hosting_accounts
   WHERE node_id = $node_id AND status IN ('Provisioning', 'Ready', 'Suspended') AND removal_requested_at IS NULL
     AND NOT EXISTS (SELECT FROM hosting_moves WHERE account_id = hosting_accounts.id AND ended_at IS NULL)
   ORDER BY id`,
  { identifier: "text", status: hostingStatuses },
);

export interface Emptying {
  moving: number;
  /** Why each of the other moves cannot end yet. */
  staying: { identifier: string; reason: string }[];
}

/**
 * Starts moving all accounts from a node. It may be killed at any time: a repetition continues with the accounts that are left.
 */
export async function moveAllFrom(
  context: Pick<OperatorContext, "database" | "clock">,
  nodeId: string,
  graceSeconds: number,
): Promise<Emptying> {
  const emptying: Emptying = { moving: 0, staying: [] };
  for (const { identifier, status } of await context.database.query(accountsToMove, { node_id: nodeId })) {
    try {
      if (status === "Provisioning") {
        throw new OperatorError("refused", "it is being created: repeat the command when it is Ready");
      }
      await startMove(context, { identifier, graceSeconds });
      emptying.moving += 1;
    } catch (error) {
      if (!(error instanceof OperatorError)) throw error;
      emptying.staying.push({ identifier, reason: error.message });
    }
  }
  return emptying;
}

const nodeProgress = statement(
  "hosting-node-emptying",
  `SELECT (SELECT count(*) FROM hosting_accounts
           WHERE node_id = $node_id AND status IN ('Provisioning', 'Ready', 'Suspended')) AS accounts,
     count(*) AS moves, coalesce(sum(files_done), 0)::int8 AS files_done, coalesce(sum(bytes_done), 0)::int8 AS bytes_done
   FROM hosting_moves WHERE source_node_id = $node_id AND state IN ('Copying', 'Freezing', 'Finishing', 'Returning')
     AND ended_at IS NULL`,
  { accounts: "int8", moves: "int8", files_done: "int8", bytes_done: "int8" },
);

/** The accounts on a node, and the progress of the moves that have not switched nodes yet. */
export async function findEmptying({ database }: DatabaseContext, nodeId: string) {
  const [progress] = await database.query(nodeProgress, { node_id: nodeId });
  if (!progress) throw new Error("the progress of the node returned no row");
  return progress;
}
