/**
 * Creates a hosting account: chooses its node, creates login, home and site there, and probes them. Every step can be
 * repeated, so one that was killed is run again. Final decisions (the node, giving up) are committed before they are carried
 * out, so that a worker that is late cannot do the opposite.
 */
import type { Context } from "#context.ts";
import {
  type Account,
  applyAccountEvent,
  desiredAccount,
  findAccount,
  findNodeOrRetry,
  recordEvent,
  retryLater,
} from "#hosting/accounts/accounts.ts";
import type { HostingNodes } from "#hosting/nodes/open.ts";
import { placeAccount } from "#hosting/nodes/place.ts";
import { isRestored } from "#hosting/nodes/restored.ts";
import {
  findIdentifierHolder,
  type IdentifierHolder,
  isUidConflict,
  withAnotherUid,
  withFreeUid,
} from "#hosting/nodes/uids.ts";
import { type HostingNode, NodeRefused, NodeUnavailable } from "#nodes/driver.ts";

/** A creation that has failed for so long is given up, if the node can confirm that nothing of it is left. */
const givenUpAfterMs = 24 * 60 * 60_000;

const failedText = "The account could not be created. The identifier is free again; ask the operator for the cause.";

/** One attempt to create an account that is `Provisioning`. */
export async function provisionAccount(context: Context, nodes: HostingNodes, found: Account): Promise<void> {
  const account = found.node_id === null ? await place(context, found) : found;
  // Its removal was requested while the node was chosen, which made it due.
  if (!account || account.removal_requested_at) return;
  const node = await findNodeOrRetry(context, nodes, account);
  if (!node) return;
  if (account.error_text === null) await createAndProbe(context, node, account);
  else await cleanUp(context, node, account);
}

/** @returns the account with its node, which no retry changes; nothing when no node has room or the account has changed */
async function place(context: Context, account: Account): Promise<Account | undefined> {
  const placed = await context.database.transaction(async (tx) => {
    const choice = await placeAccount(tx, account, account.node_tags);
    if (choice?.nodeId === undefined) return choice;
    // Choosing took the row's lock. A change that was requested since the row was read must not undo the choice.
    const current = await findAccount(tx, account.id);
    return current && applyAccountEvent(context, tx, current, { event: "placed", nodeId: choice.nodeId });
  });
  if (placed === undefined || "id" in placed) return placed;
  const { note } = placed;
  if (ageMs(context, account) > givenUpAfterMs) {
    await recordEvent(context, account, { event: "refused", note, errorText: failedText });
  } else await retryLater(context, account, note);
}

/** @param isAgain the node refused the identifier a moment ago, and had nobody with it when it was asked who */
async function createAndProbe(context: Context, node: HostingNode, placed: Account, isAgain = false): Promise<void> {
  let account = placed;
  try {
    const free = await withFreeUid(context, node, account);
    if (!free) return;
    account = free;
    await node.ensureAccount(desiredAccount(context, account));
    await node.probe({ identifier: account.identifier, uid: account.uid });
    await recordEvent(context, account, { event: "probed" });
  } catch (error) {
    if (isUidConflict(error)) await takeAnotherUid(context, account, error.message);
    else if (error instanceof NodeRefused) await handleRefusal(context, node, account, error, isAgain);
    else if (error instanceof NodeUnavailable) await handleSilence(context, node, account, error.message);
    else throw error;
  }
}

/** An account that this database does not know has the uid. Ours was never created there, so it can get another uid. */
async function takeAnotherUid(context: Context, account: Account, note: string): Promise<void> {
  const another = await withAnotherUid(context, account);
  if (another) await retryLater(context, another, `${note}: it gets another uid than ${account.uid}`);
}

/**
 * Gives up, unless a retry can succeed: after an operator's decision on a lost account that has the identifier, or on a restored
 * database, which must not remove anything from the node. It is retried at once if an operator has just removed the other account.
 */
async function handleRefusal(
  context: Context,
  node: HostingNode,
  account: Account,
  error: NodeRefused,
  isAgain: boolean,
): Promise<void> {
  const holder = error.reason === "identifier_taken" ? await findHolder(context, node, account) : "other";
  // A node does not show an account that is not ours, so nobody means that only after a second refusal.
  if (holder === "nobody" && !isAgain) return createAndProbe(context, node, account, true);
  const isHeld = holder === "lost";
  const waits = isHeld || (await isRestored(context.database, account.node_id ?? ""));
  const note = isHeld ? `${error.message} by a stray: see deedhouse node reconcile ${account.node_id}` : error.message;
  await (waits ? retryLater(context, account, note, true) : giveUp(context, node, account, note));
}

async function findHolder(context: Context, node: HostingNode, { identifier }: Account): Promise<IdentifierHolder> {
  try {
    return await findIdentifierHolder(context, node, identifier);
  } catch (error) {
    // The next attempt asks again.
    if (error instanceof NodeUnavailable) return "lost";
    throw error;
  }
}

/** Retries for as long as the node is down. Only a node that answers can confirm that nothing is left. */
async function handleSilence(context: Context, node: HostingNode, account: Account, note: string): Promise<void> {
  if (ageMs(context, account) > givenUpAfterMs && (await isThere(node, account))) {
    await giveUp(context, node, account, note);
  } else await retryLater(context, account, note);
}

async function isThere(node: HostingNode, { identifier }: Account): Promise<boolean> {
  try {
    await node.find(identifier);
    return true;
  } catch (error) {
    if (error instanceof NodeUnavailable) return false;
    throw error;
  }
}

async function giveUp(context: Context, node: HostingNode, account: Account, note: string): Promise<void> {
  const alarm = `given up: ${note}`;
  const abandoned = await recordEvent(context, account, { event: "abandoned", note, errorText: failedText, alarm });
  if (abandoned) await cleanUp(context, node, abandoned);
}

/** Removes what was created, before the identifier is free again. */
async function cleanUp(context: Context, node: HostingNode, account: Account): Promise<void> {
  try {
    // With a uid that is not checked yet, the node has nothing of this account, and maybe another one.
    if (!account.must_check_uid) await node.remove({ identifier: account.identifier, uid: account.uid });
  } catch (error) {
    if (error instanceof NodeUnavailable) return retryLater(context, account, error.message);
    // The node never accepted this account, so it has nothing of it.
    if (!(error instanceof NodeRefused)) throw error;
  }
  await recordEvent(context, account, { event: "refused" });
}

function ageMs(context: Context, account: Account): number {
  return context.clock.now().getTime() - account.created_at.getTime();
}
