/**
 * The steps of a move. Files are copied while the account is in use, then once more while FTP is closed, and both sides are
 * read back and compared. Only then the account is opened and probed on its new node, and one transaction makes that its
 * place. Until then nothing on the old node is touched but FTP, and after it nothing on the old node counts any more: it
 * serves the site for those whose DNS or caches still lead there, until the grace time is over.
 *
 * Killed anywhere, it is run again from the state that is written down; each step looks before it does.
 */
import type { Context } from "#context.ts";
import { type Account, findAccount } from "#hosting/accounts/accounts.ts";
import { desiredAccount } from "#hosting/accounts/desired.ts";
import { CopyFailed } from "#hosting/moves/copiers.ts";
import { type CopyOptions, type CopyProgress, copyFiles, finishCopy } from "#hosting/moves/files.ts";
import { claimMove, happenToMove, isAsRead, type Move, MoveOvertaken, recordProgress } from "#hosting/moves/move.ts";
import type { MoveState } from "#hosting/moves/states.ts";
import type { HostingNodes } from "#hosting/nodes/open.ts";
import { isUidConflict, withAnotherTargetUid, withFreeTargetUid } from "#hosting/nodes/uids.ts";
import { backoffMs } from "#lib/backoff.ts";
import { type AccountKey, type HostingNode, NodeRefused, NodeUnavailable } from "#nodes/driver.ts";

const backoff = { firstMs: 1_000, maxMs: 5 * 60_000 };
/** SQL, about a row of hosting_moves: what it waits for its next step at the most in its state. */
export const longestMoveWait = `greatest(interval '${backoff.maxMs} ms',
  CASE state WHEN 'Leaving' THEN make_interval(secs => grace_seconds) END)`;
/** Failures in a row: with the delays between them some four hours, and some four minutes while FTP is closed. */
const copyTriesMax = 50;
const frozenTriesMax = 9;
/** For the account's node to close FTP. */
const freezeMsMax = 10 * 60_000;
const freezeLookMs = 5_000;
const reportIntervalMs = 500;
/** Files are replaced by first being there twice, so the copy has more room than the account, until it is the account. */
const spareFiles = 100;
const spareBytes = 1_000_000_000;
const copySessions = 100;

interface MoveAtWork {
  context: Context;
  /** As it was read or written last. */
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
    // Whoever has changed it has made it due. If nobody has, it would be overtaken by nothing over and over.
    if (await isAsRead(context, move)) throw new Error("the account does not allow the move's step", { cause: error });
  }
}

/** One try at the move's state. @throws MoveOvertaken */
async function takeStep(context: Context, nodes: HostingNodes, move: Move): Promise<unknown> {
  const account = await findAccount(context.database, move.account_id);
  if (!account) throw new Error(`the account ${move.account_id} of a move is not there`);
  const unwanted = whyUnwanted(move, account);
  if (unwanted !== undefined) return happenToMove(context, move, { event: "given-up", note: unwanted });
  const [source, target] = await Promise.all([nodes.find(move.source_node_id), nodes.find(move.target_node_id)]);
  if (!source || !target) {
    const missing = source ? move.target_node_id : move.source_node_id;
    return again(context, move, `the hosting node ${missing} cannot be reached from here`);
  }
  const at = { context, move, account, source, target };
  try {
    return await steps[move.state]?.(at);
  } catch (error) {
    if (isUidConflict(error) && move.state === "Copying") {
      const another = await withAnotherTargetUid(context, at.move);
      if (!another) throw new MoveOvertaken();
      return again(context, another, `${error.message}: the copy gets another uid than ${at.move.target_uid}`);
    }
    if (error instanceof NodeRefused && isBeforeSwitch(move)) {
      return happenToMove(context, at.move, { event: "given-up", note: error.message });
    }
    if (!isPassing(error)) throw error;
    return again(context, at.move, error.message);
  }
}

const isPassing = (error: unknown): error is Error =>
  error instanceof NodeUnavailable || error instanceof NodeRefused || error instanceof CopyFailed;

const isBeforeSwitch = ({ state }: Move) => ["Copying", "Freezing", "Finishing"].includes(state);

function whyUnwanted(move: Move, account: Account): string | undefined {
  if (!isBeforeSwitch(move)) return undefined;
  if (account.removal_requested_at) return "the account is removed";
  return move.is_cancelled ? "cancelled by the operator" : undefined;
}

const steps: Partial<Record<MoveState, (at: MoveAtWork) => Promise<unknown>>> = {
  Copying: copy,
  Freezing: awaitFreeze,
  Finishing: finish,
  Leaving: leave,
  Returning: goBack,
};

const sourceKey = ({ move, account }: MoveAtWork): AccountKey => ({
  identifier: account.identifier,
  uid: move.source_uid,
});
const targetKey = ({ move, account }: MoveAtWork): AccountKey => ({
  identifier: account.identifier,
  uid: move.target_uid,
});

async function copy(at: MoveAtWork): Promise<Move> {
  const { context, account, target } = at;
  const move = await withFreeTargetUid(context, target, at.move);
  if (!move) throw new MoveOvertaken();
  at.move = move;
  // A uid that is retired on a node never comes back, so the copy has one of its own. It is shown to nobody: no password
  // opens it, and its site is not served.
  await target.ensureAccount({
    ...desiredAccount(context, account),
    ...targetKey(at),
    passwordHash: undefined,
    diskBytesMax: 2 * account.disk_quota_bytes + spareBytes,
    filesMax: 2 * account.files_max + spareFiles,
    sessionsMax: copySessions,
    suspended: true,
    hostNames: [],
  });
  await copyFiles(copyOptions(at));
  return happenToMove(context, move, { event: "copied" });
}

async function awaitFreeze({ context, move, account }: MoveAtWork): Promise<Move | undefined> {
  if (account.applied_version >= account.wanted_version) return happenToMove(context, move, { event: "frozen" });
  const frozenMs = context.clock.now().getTime() - (move.frozen_at?.getTime() ?? 0);
  if (frozenMs > freezeMsMax) {
    return happenToMove(context, move, { event: "given-up", note: `${move.source_node_id} does not close FTP` });
  }
  // The account's step wakes us once its node has it; this is for the case that it could not.
  return later(context, move, freezeLookMs, `waits for ${move.source_node_id} to close FTP`);
}

async function finish(at: MoveAtWork): Promise<Move> {
  const { context, move, target } = at;
  const usage = await finishCopy(copyOptions(at));
  // As it is by now: what was changed during the copying holds here too, and what changes from here on comes with the
  // account's own step.
  const account = await findAccount(context.database, move.account_id);
  if (!account) throw new MoveOvertaken();
  await target.ensureAccount({ ...desiredAccount(context, { ...account, is_frozen: false }), ...targetKey(at) });
  const isProbed = account.suspended_at === null;
  if (isProbed) await target.probe(targetKey(at));
  return happenToMove(context, move, { event: "switched", usage, isProbed });
}

async function leave(at: MoveAtWork): Promise<Move | undefined> {
  const { context, move, account, source } = at;
  const leftAtMs = (move.switched_at?.getTime() ?? 0) + move.grace_seconds * 1_000;
  const waitMs = leftAtMs - context.clock.now().getTime();
  if (waitMs <= 0 || move.is_cancelled || account.removal_requested_at) {
    await source.remove(sourceKey(at));
    return happenToMove(context, move, { event: "left" });
  }
  // Who comes by an old address sees what others see: 503 once it is suspended, 404 at host names that were taken away.
  await source.ensureAccount({ ...desiredAccount(context, account), ...sourceKey(at), ftpEnabled: false });
  return later(context, move, waitMs, `${move.source_node_id} serves the site until then`);
}

async function goBack(at: MoveAtWork): Promise<Move> {
  // With that uid the node may have something else.
  if (!at.move.must_check_uid) await at.target.remove(targetKey(at));
  return happenToMove(at.context, at.move, { event: "returned" });
}

function copyOptions(at: MoveAtWork): CopyOptions {
  const { context, move, source, target } = at;
  let reportedAtMs = Number.NEGATIVE_INFINITY;
  return {
    openSource: () => source.oneTimeLogin(sourceKey(at)),
    openTarget: () => target.oneTimeLogin(targetKey(at)),
    async report(progress: CopyProgress) {
      const nowMs = context.clock.monotonicMs();
      if (nowMs - reportedAtMs < reportIntervalMs && progress.filesDone < progress.filesTotal) return;
      reportedAtMs = nowMs;
      await recordProgress(context, move, progress);
    },
  };
}

/** Tries again later, or goes back when that has not worked for too long. */
async function again(context: Context, move: Move, note: string): Promise<Move | undefined> {
  const triesMax = move.state === "Copying" ? copyTriesMax : frozenTriesMax;
  if (isBeforeSwitch(move) && move.backoff_count >= triesMax) {
    return happenToMove(context, move, { event: "given-up", note });
  }
  return later(context, move, backoffMs(move.backoff_count + 1, backoff, context.random), note, true);
}

async function later(
  context: Context,
  move: Move,
  delayMs: number,
  note: string,
  isTrouble = false,
): Promise<undefined> {
  const nextStepAt = new Date(context.clock.now().getTime() + delayMs);
  await happenToMove(context, move, { event: "doubtful", note, nextStepAt, isTrouble });
}
