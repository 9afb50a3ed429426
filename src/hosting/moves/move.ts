/**
 * Moves of accounts in the database: how a move starts, and how its state changes. A move holds room on the node that the
 * account is not on: before the switch on the new node, after it on the old one.
 */
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { isUniqueViolation } from "#db/errors.ts";
import { statement } from "#db/statement.ts";
import { type Account, alarmAfterMs, findAccount, makeAccountDue, requestChange } from "#hosting/accounts/accounts.ts";
import { type MoveEvent, moveStates, nextMoveState } from "#hosting/moves/states.ts";
import { releaseRoomOn, reserveRoom } from "#hosting/nodes/place.ts";
import { OperatorError } from "#operator-error.ts";

const moveColumns = {
  id: "int8",
  account_id: "int8",
  state: moveStates,
  source_node_id: "text",
  source_uid: "int8",
  target_node_id: "text",
  target_uid: "int8",
  must_check_uid: "bool",
  reserved_bytes: "int8",
  grace_seconds: "int4",
  is_cancelled: "bool",
  backoff_count: "int4",
  trouble_since: "timestamptz?",
  frozen_at: "timestamptz?",
  switched_at: "timestamptz?",
  version: "int8",
} as const;

// Counts the version up, so that a worker that has lost the row's lock changes nothing any more. In releases without
// `version`, `run` does this.
const claim = statement(
  "hosting-move-claim",
  `UPDATE hosting_moves SET run = run + 1 WHERE id = $id AND ended_at IS NULL
   RETURNING ${Object.keys(moveColumns).join(", ")}`,
  moveColumns,
);

export type Move = NonNullable<(typeof claim)["row"]>;

/** Takes the move over from other workers. @returns nothing when it has ended */
export async function claimMove({ database }: Pick<Context, "database">, moveId: number): Promise<Move | undefined> {
  const [move] = await database.query(claim, { id: moveId });
  return move;
}

const versionOf = statement("hosting-move-version", "SELECT version FROM hosting_moves WHERE id = $id", {
  version: "int8",
});

/** Whether the move is the same as when it was read. */
export async function isUnchanged({ database }: Pick<Context, "database">, { id, version }: Move): Promise<boolean> {
  const [move] = await database.query(versionOf, { id });
  return move?.version === version;
}

const accountToMove = statement(
  "hosting-move-account",
  `SELECT id FROM hosting_accounts
   WHERE identifier = $identifier AND status IN ('Ready', 'Suspended') AND removal_requested_at IS NULL FOR UPDATE`,
  { id: "int8" },
);

const panels = statement(
  "hosting-move-panels",
  "SELECT id FROM hosting_nodes WHERE id IN ($from, $to) AND kind = 'cpanel'",
  { id: "text" },
);

const insertMove = statement(
  "hosting-move-insert",
  `INSERT INTO hosting_moves (account_id, state, source_node_id, source_uid, target_node_id, reserved_bytes, grace_seconds,
     created_at, updated_at, next_step_at, must_check_uid)
   VALUES ($account_id, 'Copying', $from, $source_uid, $to, $reserved_bytes, $grace_seconds, $now, $now, $now, true)
   RETURNING id`,
  { id: "int8" },
);

export interface NewMove {
  identifier: string;
  /** The new node. The default is the node with the most room. */
  to?: string | undefined;
  /** How long the old node serves the site after the switch. */
  graceSeconds: number;
}

/**
 * Starts a move: reserves room on the new node and inserts the move, which is due, in one transaction.
 * @throws OperatorError
 */
export async function startMove(
  context: Pick<Context, "database" | "clock">,
  { identifier, to, graceSeconds }: NewMove,
): Promise<{ moveId: number; from: string; to: string }> {
  const start = async (tx: Transaction) => {
    const [locked] = await tx.query(accountToMove, { identifier });
    const account = locked && (await findAccount(tx, locked.id));
    if (!account || account.node_id === null) {
      const what = `${identifier} that is Ready or Suspended: others cannot be moved`;
      throw new OperatorError("not-found", `there is no hosting account ${what}`);
    }
    const from = account.node_id;
    if (from === to) throw new OperatorError("refused", `${identifier} is on ${to} already`);
    const [panel] = await tx.query(panels, { from, to: to ?? null });
    if (panel) {
      const advice = "the panel's own tools can copy accounts to another panel";
      throw new OperatorError("refused", `no account can be moved to or from ${panel.id}, which is a panel: ${advice}`);
    }
    const room = await reserveRoom(tx, account.disk_quota_bytes, account.node_tags, { except: from, only: to });
    if (room.nodeId === undefined) {
      const where = to === undefined ? "" : ` to ${to}`;
      throw new OperatorError("refused", `${identifier} cannot be moved${where}: ${room.note}`);
    }
    const [move] = await tx.query(insertMove, {
      account_id: account.id,
      from,
      source_uid: account.uid,
      to: room.nodeId,
      reserved_bytes: account.disk_quota_bytes,
      grace_seconds: graceSeconds,
      now: context.clock.now(),
    });
    if (!move) throw new Error("the move was not inserted");
    await requestChange(context, tx, account.id, "move-wanted", `is copied from ${from} to ${room.nodeId}`);
    return { moveId: move.id, from, to: room.nodeId };
  };
  try {
    return await context.database.transaction(start);
  } catch (error) {
    if (!isUniqueViolation(error, "hosting_moves_live")) throw error;
    const advice = "deedhouse moves list shows it, deedhouse moves finish ends the grace time of the old node";
    throw new OperatorError("refused", `${identifier} is being moved: ${advice}`);
  }
}

const updateMove = statement(
  "hosting-move-update",
  `UPDATE hosting_moves SET state = $state, note = $note, reason = coalesce($reason, reason), next_step_at = $next_step_at,
     backoff_count = $backoff_count, updated_at = $now, run = run + 1,
     trouble_since = CASE WHEN $backoff_count > 0 THEN coalesce(trouble_since, $now::timestamptz) END,
     frozen_at = CASE WHEN $state = 'Freezing' THEN coalesce(frozen_at, $now::timestamptz) ELSE frozen_at END,
     switched_at = CASE WHEN $state = 'Leaving' THEN coalesce(switched_at, $now::timestamptz) ELSE switched_at END,
     ended_at = CASE WHEN $state IN ('Moved', 'Returned') THEN $now::timestamptz END
   WHERE id = $id AND version = $version
   RETURNING ${Object.keys(moveColumns).join(", ")}`,
  moveColumns,
);

const freezeAccount = statement(
  "hosting-move-freeze",
  "UPDATE hosting_accounts SET is_frozen = $is_frozen WHERE id = $id AND is_frozen <> $is_frozen",
  {},
);

// From here on, the account is on the new node for reads, changes and its removal. If it was not probed there it must be
// suspended, so that its resumption probes it.
const switchAccount = statement(
  "hosting-move-switch",
  `UPDATE hosting_accounts SET node_id = $to, uid = $target_uid, is_frozen = false, disk_used_bytes = $bytes,
     files_used = $files
   WHERE id = $id AND node_id = $from AND uid = $source_uid AND is_frozen AND ($is_probed OR status = 'Suspended')
   RETURNING id`,
  { id: "int8" },
);

export interface MoveEventDetails {
  event: MoveEvent;
  note?: string;
  nextStepAt?: Date;
  /** With `doubtful`: the attempt failed. Otherwise the move waits for a time. */
  isFailure?: boolean;
  /** With `switched`: the account's usage on its new node. */
  usage?: { bytes: number; files: number };
  /** With `switched`: whether the account was probed there. */
  isProbed?: boolean;
}

/** The move or its account has changed since it was read. The step ends without a change. */
export class MoveOvertaken extends Error {
  override readonly name = "MoveOvertaken";
}

/**
 * Writes the move's state and what follows from it for the account, in one transaction.
 * @throws MoveOvertaken when another worker has taken the move over, or the account no longer allows the change
 */
export async function applyMoveEvent(context: Context, move: Move, details: MoveEventDetails): Promise<Move> {
  const { event, note = null, isFailure = false } = details;
  const state = nextMoveState(move.state, event);
  if (!state) throw new Error(`a move in ${move.state} has no transition for ${event}`);
  return context.database.transaction(async (tx) => {
    // Accounts are locked before their moves, here as everywhere.
    const account = await updateAccount(context, tx, move, details);
    const now = context.clock.now();
    const [updated] = await tx.query(updateMove, {
      id: move.id,
      version: move.version,
      state,
      note,
      reason: event === "given-up" ? note : null,
      next_step_at: event === "left" || event === "returned" ? null : (details.nextStepAt ?? now),
      backoff_count: isFailure ? move.backoff_count + 1 : 0,
      now,
    });
    if (!updated) throw new MoveOvertaken();
    context.log.debug(
      { move: move.id, identifier: account.identifier, event, state, note },
      "a move changed its state",
    );
    const alarm = { kind: "hosting-move", subject: account.identifier } as const;
    if (event === "given-up") await raiseAlarm(context, { ...alarm, note: note ?? "the move was given up" }, tx);
    if (event === "switched") await resolveAlarm(context, alarm, tx);
    await updateStuckAlarm(context, tx, account.identifier, move, updated, note);
    return updated;
  });
}

/** Raises the alarm when a move has only failed for ten minutes, and resolves it when the move makes progress. */
async function updateStuckAlarm(
  context: Context,
  tx: Transaction,
  identifier: string,
  before: Move,
  { state, trouble_since: since }: Move,
  note: string | null,
): Promise<void> {
  const alarm = { kind: "hosting-move-stuck", subject: identifier } as const;
  if (since === null) {
    if (before.trouble_since !== null) await resolveAlarm(context, alarm, tx);
  } else if (context.clock.now().getTime() - since.getTime() > alarmAfterMs) {
    await raiseAlarm(context, { ...alarm, note: `still ${state} since ${since.toISOString()}: ${note}` }, tx);
  }
}

/** @throws MoveOvertaken */
async function updateAccount(
  context: Context,
  tx: Transaction,
  move: Move,
  { event, note, usage, isProbed = false }: MoveEventDetails,
): Promise<Account> {
  const { account_id: id, source_node_id: from, target_node_id: to } = move;
  const request = (text: string) => requestChange(context, tx, id, "move-wanted", text);
  if (event === "copied") {
    if (!(await request("FTP is closed until the last files are copied"))) throw new MoveOvertaken();
    await tx.query(freezeAccount, { id, is_frozen: true });
  }
  if (event === "switched") {
    if (!(await request(`is on ${to} from now on`))) throw new MoveOvertaken();
    const [switched] = await tx.query(switchAccount, {
      id,
      from,
      source_uid: move.source_uid,
      to,
      target_uid: move.target_uid,
      bytes: usage?.bytes ?? 0,
      files: usage?.files ?? 0,
      is_probed: isProbed,
    });
    if (!switched) throw new MoveOvertaken();
  }
  if (event === "given-up") {
    await request(`stays on ${from}: ${note ?? "the move was given up"}`);
    await tx.query(freezeAccount, { id, is_frozen: false });
  }
  const account = await findAccount(tx, id);
  if (!account) throw new Error(`the account ${id} of a move does not exist`);
  if (event === "left" || event === "returned") {
    // Its removal may be waiting for the end of the move. Accounts are locked before nodes.
    await makeAccountDue(context, tx, id);
    await releaseRoomOn(tx, event === "left" ? from : to, move.reserved_bytes);
  }
  return account;
}

const writeProgress = statement(
  "hosting-move-progress",
  `UPDATE hosting_moves SET files_done = $files_done, files_total = $files_total, bytes_done = $bytes_done, updated_at = $now
   FROM hosting_accounts AS account
   WHERE hosting_moves.id = $id AND hosting_moves.version = $version AND NOT is_cancelled
     AND account.id = account_id AND removal_requested_at IS NULL
   RETURNING hosting_moves.id`,
  { id: "int8" },
);

/** @throws MoveOvertaken when the move was cancelled or taken over, or the account is being removed */
export async function recordProgress(
  { database, clock }: Context,
  { id, version }: Move,
  { filesDone, filesTotal, bytesDone }: { filesDone: number; filesTotal: number; bytesDone: number },
): Promise<void> {
  const [written] = await database.query(writeProgress, {
    id,
    version,
    files_done: filesDone,
    files_total: filesTotal,
    bytes_done: bytesDone,
    now: clock.now(),
  });
  if (!written) throw new MoveOvertaken();
}

const liveMove = statement(
  "hosting-move-live",
  "SELECT id FROM hosting_moves WHERE account_id = $account_id AND ended_at IS NULL",
  { id: "int8" },
);

/** Whether two nodes have files of the account. */
export async function isMoving(database: Pick<Transaction, "query">, accountId: number): Promise<boolean> {
  return (await database.query(liveMove, { account_id: accountId })).length > 0;
}
