/**
 * The steps of a move. Files are copied while the account is in use, and again while FTP is closed; then both sides are read
 * back and compared. Only then the account is opened and probed on its new node, and one transaction switches it there. Before
 * the switch, nothing on the old node changes but FTP. After it, the old node only serves the site, for visitors whose DNS or
 * caches still lead there, until the grace time is over.
 *
 * A step that was killed is run again from the stored state; each step checks what is done already.
 */
import type { Context } from "#context.ts";
import { type Account, desiredAccount, findAccount } from "#hosting/accounts/accounts.ts";
import { CopyFailed } from "#hosting/moves/copiers.ts";
import { type CopyOptions, type CopyProgress, copyFiles, finishCopy } from "#hosting/moves/files.ts";
import {
  applyMoveEvent,
  claimMove,
  isUnchanged,
  type Move,
  MoveOvertaken,
  recordProgress,
} from "#hosting/moves/move.ts";
import type { MoveState } from "#hosting/moves/states.ts";
import type { HostingNodes } from "#hosting/nodes/open.ts";
import { isUidConflict, withAnotherTargetUid, withFreeTargetUid } from "#hosting/nodes/uids.ts";
import { backoffMs } from "#lib/backoff.ts";
import { type AccountKey, type HostingNode, NodeRefused, NodeUnavailable } from "#nodes/driver.ts";

const backoff = { firstMs: 1_000, maxMs: 5 * 60_000 };
/** SQL, about a row of hosting_moves: the longest wait for its next step. */
export const longestMoveWait = `greatest(interval '${backoff.maxMs} ms',
  CASE state WHEN 'Leaving' THEN make_interval(secs => grace_seconds) END)`;
/** Failures in a row. With the backoff, about four hours while copying, and four minutes while FTP is closed. */
const copyFailuresMax = 50;
const frozenFailuresMax = 9;
/** How long the node may take to close FTP. */
const freezeMsMax = 10 * 60_000;
const freezeCheckMs = 5_000;
const reportIntervalMs = 500;
/** A replaced file exists twice for a while, so until the switch the copy has more room than the account. */
const spareFiles = 100;
const spareBytes = 1_000_000_000;
const copySessions = 100;

/** What a step works with. */
interface MoveStep {
  context: Context;
  /** As it was last read or written. */
  move: Move;
  account: Account;
  source: HostingNode;
  target: HostingNode;
}

/** One step of the machine `hosting-moves`. */
export async function advanceMove(context: Context, nodes: HostingNodes, moveId: number): Promise<void> {
  const move = await claimMove(context, moveId);
  if (!move) return;
  try {
    await takeStep(context, nodes, move);
  } catch (error) {
    if (!(error instanceof MoveOvertaken)) throw error;
    // A changed move is due. An unchanged one would be overtaken again and again.
    if (await isUnchanged(context, move))
      throw new Error("the account does not allow the move's step", { cause: error });
  }
}

/** @throws MoveOvertaken */
async function takeStep(context: Context, nodes: HostingNodes, move: Move): Promise<unknown> {
  const account = await findAccount(context.database, move.account_id);
  if (!account) throw new Error(`the account ${move.account_id} of a move does not exist`);
  const unwanted = whyUnwanted(move, account);
  if (unwanted !== undefined) return applyMoveEvent(context, move, { event: "given-up", note: unwanted });
  const [source, target] = await Promise.all([nodes.find(move.source_node_id), nodes.find(move.target_node_id)]);
  if (!source || !target) {
    const missing = source ? move.target_node_id : move.source_node_id;
    return retryLater(context, move, `the hosting node ${missing} cannot be reached from here`);
  }
  const step = { context, move, account, source, target };
  try {
    return await steps[move.state]?.(step);
  } catch (error) {
    if (isUidConflict(error) && move.state === "Copying") {
      const another = await withAnotherTargetUid(context, step.move);
      if (!another) throw new MoveOvertaken();
      return retryLater(context, another, `${error.message}: the copy gets another uid than ${step.move.target_uid}`);
    }
    if (error instanceof NodeRefused && isBeforeSwitch(move)) {
      return applyMoveEvent(context, step.move, { event: "given-up", note: error.message });
    }
    if (!isTemporary(error)) throw error;
    return retryLater(context, step.move, error.message);
  }
}

const isTemporary = (error: unknown): error is Error =>
  error instanceof NodeUnavailable || error instanceof NodeRefused || error instanceof CopyFailed;

const isBeforeSwitch = ({ state }: Move) => ["Copying", "Freezing", "Finishing"].includes(state);

function whyUnwanted(move: Move, account: Account): string | undefined {
  if (!isBeforeSwitch(move)) return undefined;
  if (account.removal_requested_at) return "the account is removed";
  return move.is_cancelled ? "cancelled by the operator" : undefined;
}

const steps: Partial<Record<MoveState, (step: MoveStep) => Promise<unknown>>> = {
  Copying: copy,
  Freezing: awaitFreeze,
  Finishing: finish,
  Leaving: leave,
  Returning: goBack,
};

const sourceKey = ({ move, account }: MoveStep): AccountKey => ({
  identifier: account.identifier,
  uid: move.source_uid,
});
const targetKey = ({ move, account }: MoveStep): AccountKey => ({
  identifier: account.identifier,
  uid: move.target_uid,
});

async function copy(step: MoveStep): Promise<Move> {
  const { context, account, target } = step;
  const move = await withFreeTargetUid(context, target, step.move);
  if (!move) throw new MoveOvertaken();
  step.move = move;
  // A node never accepts a retired uid again, so the copy gets its own. No password opens it, and its site is not served.
  await target.ensureAccount({
    ...desiredAccount(context, account),
    ...targetKey(step),
    passwordHash: undefined,
    diskBytesMax: 2 * account.disk_quota_bytes + spareBytes,
    filesMax: 2 * account.files_max + spareFiles,
    sessionsMax: copySessions,
    suspended: true,
    hostNames: [],
  });
  await copyFiles(copyOptions(step));
  return applyMoveEvent(context, move, { event: "copied" });
}

async function awaitFreeze({ context, move, account }: MoveStep): Promise<Move | undefined> {
  if (account.applied_version >= account.wanted_version) return applyMoveEvent(context, move, { event: "frozen" });
  const frozenMs = context.clock.now().getTime() - (move.frozen_at?.getTime() ?? 0);
  if (frozenMs > freezeMsMax) {
    return applyMoveEvent(context, move, { event: "given-up", note: `${move.source_node_id} does not close FTP` });
  }
  // A trigger wakes the move once the account's step has closed FTP; this covers a step that fails.
  return postpone(context, move, freezeCheckMs, `waits for ${move.source_node_id} to close FTP`);
}

async function finish(step: MoveStep): Promise<Move> {
  const { context, move, target } = step;
  const usage = await finishCopy(copyOptions(step));
  // Read again, with the changes that were requested during the copying. Later ones are applied by the account's own step.
  const account = await findAccount(context.database, move.account_id);
  if (!account) throw new MoveOvertaken();
  await target.ensureAccount({ ...desiredAccount(context, { ...account, is_frozen: false }), ...targetKey(step) });
  const isProbed = !account.is_to_be_suspended;
  if (isProbed) await target.probe(targetKey(step));
  return applyMoveEvent(context, move, { event: "switched", usage, isProbed });
}

async function leave(step: MoveStep): Promise<Move | undefined> {
  const { context, move, account, source } = step;
  const leftAtMs = (move.switched_at?.getTime() ?? 0) + move.grace_seconds * 1_000;
  const waitMs = leftAtMs - context.clock.now().getTime();
  if (waitMs <= 0 || move.is_cancelled || account.removal_requested_at) {
    await source.remove(sourceKey(step));
    return applyMoveEvent(context, move, { event: "left" });
  }
  // Visitors at the old address see the same as others: 503 when it is suspended, 404 at removed host names.
  await source.ensureAccount({ ...desiredAccount(context, account), ...sourceKey(step), ftpEnabled: false });
  return postpone(context, move, waitMs, `${move.source_node_id} serves the site until then`);
}

async function goBack(step: MoveStep): Promise<Move> {
  // With a uid that is not checked yet, the node may have another account.
  if (!step.move.must_check_uid) await step.target.remove(targetKey(step));
  return applyMoveEvent(step.context, step.move, { event: "returned" });
}

function copyOptions(step: MoveStep): CopyOptions {
  const { context, move, source, target } = step;
  let reportedAtMs = Number.NEGATIVE_INFINITY;
  return {
    openSource: () => source.oneTimeLogin(sourceKey(step)),
    openTarget: () => target.oneTimeLogin(targetKey(step)),
    async report(progress: CopyProgress) {
      const nowMs = context.clock.monotonicMs();
      if (nowMs - reportedAtMs < reportIntervalMs && progress.filesDone < progress.filesTotal) return;
      reportedAtMs = nowMs;
      await recordProgress(context, move, progress);
    },
  };
}

/** Retries later, or gives the move up after too many failures. */
async function retryLater(context: Context, move: Move, note: string): Promise<Move | undefined> {
  const failuresMax = move.state === "Copying" ? copyFailuresMax : frozenFailuresMax;
  if (isBeforeSwitch(move) && move.backoff_count >= failuresMax) {
    return applyMoveEvent(context, move, { event: "given-up", note });
  }
  return postpone(context, move, backoffMs(move.backoff_count + 1, backoff, context.random), note, true);
}

async function postpone(
  context: Context,
  move: Move,
  delayMs: number,
  note: string,
  isFailure = false,
): Promise<undefined> {
  const nextStepAt = new Date(context.clock.now().getTime() + delayMs);
  await applyMoveEvent(context, move, { event: "doubtful", note, nextStepAt, isFailure });
}
