/**
 * Moves of accounts in the database: how one begins, and the one way in which its state changes. A move holds room on the
 * node of the two that the account is not at: first on the one that it comes to, after the switch on the one that it leaves.
 */
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { isUniqueViolation } from "#db/errors.ts";
import { statement } from "#db/statement.ts";
import { type Account, callAccountNow, findAccount } from "#hosting/accounts/accounts.ts";
import { changeAccount } from "#hosting/accounts/change.ts";
import { alarmAfterMs } from "#hosting/accounts/tries.ts";
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

// It counts the version up: whoever worked on the move before, and has lost its lock, changes nothing any more. In a release
// that knows no version, `run` does this.
const claim = statement(
  "hosting-move-claim",
  `UPDATE hosting_moves SET run = run + 1 WHERE id = $id AND ended_at IS NULL
   RETURNING ${Object.keys(moveColumns).join(", ")}`,
  moveColumns,
);

export type Move = NonNullable<(typeof claim)["row"]>;

/** The move as it is now, in our hands; nothing when it has ended. */
export async function claimMove({ database }: Pick<Context, "database">, moveId: number): Promise<Move | undefined> {
  const [move] = await database.query(claim, { id: moveId });
  return move;
}

const versionOf = statement("hosting-move-version", "SELECT version FROM hosting_moves WHERE id = $id", {
  version: "int8",
});

/** Whether the move is as it was read. */
export async function isAsRead({ database }: Pick<Context, "database">, { id, version }: Move): Promise<boolean> {
  const [move] = await database.query(versionOf, { id });
  return move?.version === version;
}

const accountToMove = statement(
  "hosting-move-account",
  `SELECT id FROM hosting_accounts
   WHERE identifier = $1 AND status IN ('Ready', 'Suspended') AND removal_requested_at IS NULL FOR UPDATE`,
  { id: "int8" },
);

const panels = statement(
  "hosting-move-panels",
  "SELECT id FROM hosting_nodes WHERE id = ANY ($1) AND kind = 'cpanel'",
  {
    id: "text",
  },
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
  /** Where to; the node with the most room when it is left out. */
  to?: string | undefined;
  /** How long the node that is left goes on serving the site. */
  graceSeconds: number;
}

/**
 * Begins a move: room on the other node and the move, which is due, in one transaction.
 * @throws OperatorError
 */
export async function startMove(
  context: Pick<Context, "database" | "clock">,
  { identifier, to, graceSeconds }: NewMove,
): Promise<{ moveId: number; from: string; to: string }> {
  const begin = async (tx: Transaction) => {
    const [locked] = await tx.query(accountToMove, [identifier]);
    const account = locked && (await findAccount(tx, locked.id));
    if (!account || account.node_id === null) {
      const what = "is Ready or Suspended: others cannot be moved";
      throw new OperatorError("not-found", `there is no hosting account ${identifier} that ${what}`);
    }
    const from = account.node_id;
    if (from === to) throw new OperatorError("refused", `${identifier} is on ${to} already`);
    const [panel] = await tx.query(panels, [[from, ...(to === undefined ? [] : [to])]]);
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
      ...{ account_id: account.id, from, source_uid: account.uid, to: room.nodeId },
      ...{ reserved_bytes: account.disk_quota_bytes, grace_seconds: graceSeconds, now: context.clock.now() },
    });
    if (!move) throw new Error("the move was not inserted");
    await noteOnAccount(context, tx, account.id, `is copied from ${from} to ${room.nodeId}`);
    return { moveId: move.id, from, to: room.nodeId };
  };
  try {
    return await context.database.transaction(begin);
  } catch (error) {
    if (!isUniqueViolation(error, "hosting_moves_live")) throw error;
    const advice = "deedhouse moves list shows it, deedhouse moves finish ends the time that the old node is kept";
    throw new OperatorError("refused", `${identifier} is being moved: ${advice}`);
  }
}

/** A line in the account's history; its next step sees to it that the node has what the row says. */
function noteOnAccount(context: Pick<Context, "clock">, tx: Transaction, accountId: number, note: string) {
  return changeAccount(context, tx, accountId, { event: "move-wanted", note });
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

// From here on the account is there, whatever is asked: reads, changes, its end. One that could not be probed there must be
// suspended by now, so that its resumption probes it.
const switchAccount = statement(
  "hosting-move-switch",
  `UPDATE hosting_accounts SET node_id = $to, uid = $target_uid, is_frozen = false, disk_used_bytes = $bytes,
     files_used = $files
   WHERE id = $id AND node_id = $from AND uid = $source_uid AND is_frozen AND ($is_probed OR status = 'Suspended')
   RETURNING id`,
  { id: "int8" },
);

export interface MoveHappening {
  event: MoveEvent;
  note?: string;
  nextStepAt?: Date;
  /** With `doubtful`: it did not work; else it waits for its time. */
  isTrouble?: boolean;
  /** With `switched`: what the account holds on its new node. */
  usage?: { bytes: number; files: number };
  /** With `switched`: whether it works there. */
  isProbed?: boolean;
}

/** Not ours any more, or not possible any more: who sees it stops, and changes nothing. */
export class MoveOvertaken extends Error {
  override readonly name = "MoveOvertaken";
}

/**
 * New state of the move, and of its account what goes with it, in one transaction.
 * @throws MoveOvertaken when somebody else works on it, or the account may not be changed so any more
 */
export async function happenToMove(context: Context, move: Move, happening: MoveHappening): Promise<Move> {
  const state = nextMoveState(move.state, happening.event);
  if (!state) throw new Error(`a move in ${move.state} has no transition for ${happening.event}`);
  return context.database.transaction(async (tx) => {
    // The account's row is locked before the move's, as its own changes do.
    const account = await changeAccountWith(context, tx, move, happening);
    const now = context.clock.now();
    const { event, note = null, nextStepAt = now, isTrouble = false } = happening;
    const { id, version } = move;
    const [updated] = await tx.query(updateMove, {
      ...{ id, version, state, note, now, reason: event === "given-up" ? note : null },
      backoff_count: isTrouble ? move.backoff_count + 1 : 0,
      next_step_at: event === "left" || event === "returned" ? null : nextStepAt,
    });
    if (!updated) throw new MoveOvertaken();
    context.log.debug({ move: move.id, identifier: account.identifier, event, state, note }, "a move goes on");
    const alarm = { kind: "hosting-move", subject: account.identifier } as const;
    if (event === "given-up") await raiseAlarm(context, { ...alarm, note: note ?? "the move was given up" }, tx);
    if (event === "switched") await resolveAlarm(context, alarm, tx);
    await tellTrouble(context, tx, account.identifier, [move, updated], note);
    return updated;
  });
}

/** A person has to look at a move that has only failed for a while, until it goes on. */
async function tellTrouble(
  context: Context,
  tx: Transaction,
  identifier: string,
  [before, { state, trouble_since: since }]: [before: Move, now: Move],
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
async function changeAccountWith(
  context: Context,
  tx: Transaction,
  move: Move,
  { event, note, usage, isProbed = false }: MoveHappening,
): Promise<Account> {
  const { account_id: id, source_node_id: from, target_node_id: to } = move;
  if (event === "copied") {
    if (!(await noteOnAccount(context, tx, id, "FTP is closed until the last files are copied")))
      throw new MoveOvertaken();
    await tx.query(freezeAccount, { id, is_frozen: true });
  }
  if (event === "switched") {
    if (!(await noteOnAccount(context, tx, id, `is on ${to} from now on`))) throw new MoveOvertaken();
    const [switched] = await tx.query(switchAccount, {
      ...{ id, from, source_uid: move.source_uid, to, target_uid: move.target_uid },
      ...{ bytes: usage?.bytes ?? 0, files: usage?.files ?? 0, is_probed: isProbed },
    });
    if (!switched) throw new MoveOvertaken();
  }
  if (event === "given-up") {
    await noteOnAccount(context, tx, id, `stays on ${from}: ${note ?? "the move was given up"}`);
    await tx.query(freezeAccount, { id, is_frozen: false });
  }
  const account = await findAccount(tx, id);
  if (!account) throw new Error(`the account ${id} of a move is not there`);
  if (event === "left" || event === "returned") {
    // Its removal may wait for the move's end. The account's row is locked before the node's.
    await callAccountNow(context, tx, id);
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

/** Writes down how far it is. @throws MoveOvertaken when it shall not go on */
export async function recordProgress(
  { database, clock }: Context,
  { id, version }: Move,
  { filesDone, filesTotal, bytesDone }: { filesDone: number; filesTotal: number; bytesDone: number },
): Promise<void> {
  const [written] = await database.query(writeProgress, {
    ...{ id, version, now: clock.now() },
    ...{ files_done: filesDone, files_total: filesTotal, bytes_done: bytesDone },
  });
  if (!written) throw new MoveOvertaken();
}

const liveMove = statement(
  "hosting-move-live",
  "SELECT id FROM hosting_moves WHERE account_id = $1 AND ended_at IS NULL",
  { id: "int8" },
);

/** Whether two nodes have something of the account. */
export async function isMoving(database: Pick<Transaction, "query">, accountId: number): Promise<boolean> {
  return (await database.query(liveMove, [accountId])).length > 0;
}
