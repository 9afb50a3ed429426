/**
 * Makes a hosting account real: chooses its node, sees that login, home and site exist there, and proves it with a
 * probe. Every step can be repeated: killed anywhere, it is simply run again. What decides for good (the node, giving
 * up) is committed before it is done, so that a worker that comes late cannot do the opposite.
 */
import type { Context } from "#context.ts";
import { type Account, findAccount, happenToAccount } from "#hosting/accounts/accounts.ts";
import { desiredAccount } from "#hosting/accounts/desired.ts";
import { again, record } from "#hosting/accounts/tries.ts";
import type { HostingNodes } from "#hosting/nodes/open.ts";
import { placeAccount } from "#hosting/nodes/place.ts";
import { isRestored } from "#hosting/nodes/restored.ts";
import { isHeldByLostAccount, isUidConflict, withAnotherUid, withFreeUid } from "#hosting/nodes/uids.ts";
import { type HostingNode, NodeRefused, NodeUnavailable } from "#nodes/driver.ts";

/** After this long without success, and only with nothing left on the node, the creation is given up. */
const givenUpAfterMs = 24 * 60 * 60_000;

const failedText = "The account could not be created. The identifier is free again; ask the operator for the cause.";

/** One try at making an account that is `Provisioning`. */
export async function provisionAccount(context: Context, nodes: HostingNodes, found: Account): Promise<void> {
  const account = found.node_id === null ? await place(context, found) : found;
  // Whoever wished it gone while its node was chosen has enqueued its job: it must not be called ready before that.
  if (!account || account.removal_requested_at) return;
  const node = await nodes.find(account.node_id ?? "");
  if (!node) await again(context, account, `the hosting node ${account.node_id} cannot be reached from here`);
  else if (account.error_text !== null) await unmake(context, node, account);
  else await makeAndProbe(context, node, account);
}

/** The account with its node, the same in every retry; nothing when there is none or somebody else has changed it. */
async function place(context: Context, account: Account): Promise<Account | undefined> {
  const placed = await context.database.transaction(async (tx) => {
    const choice = await placeAccount(tx, account, account.node_tags);
    if (choice?.nodeId === undefined) return choice;
    // Under the row's lock, which choosing takes: what is wished otherwise since does not take the node away again.
    const current = await findAccount(tx, account.id);
    return current && happenToAccount(context, tx, current, { event: "placed", nodeId: choice.nodeId });
  });
  if (placed === undefined || "id" in placed) return placed;
  const { note } = placed;
  if (ageMs(context, account) > givenUpAfterMs) {
    await record(context, account, { event: "refused", note, errorText: failedText });
  } else await again(context, account, note);
}

async function makeAndProbe(context: Context, node: HostingNode, placed: Account): Promise<void> {
  let account = placed;
  try {
    const free = await withFreeUid(context, node, account);
    if (!free) return;
    account = free;
    await node.ensureAccount(desiredAccount(context, account));
    await node.probe({ identifier: account.identifier, uid: account.uid });
    await record(context, account, { event: "probed" });
  } catch (error) {
    if (isUidConflict(error)) await takeAnotherUid(context, account, error.message);
    else if (error instanceof NodeRefused) await refused(context, node, account, error);
    else if (error instanceof NodeUnavailable) await doubt(context, node, account, error.message);
    else throw error;
  }
}

/** Somebody has the uid whom this database does not know. The account was never there, so it can have another. */
async function takeAnotherUid(context: Context, account: Account, note: string): Promise<void> {
  const another = await withAnotherUid(context, account);
  if (another) await again(context, another, `${note}: it gets another uid than ${account.uid}`);
}

/** What was made could not be unmade now; and a lost account of that name is in the way until an operator has decided. */
async function refused(context: Context, node: HostingNode, account: Account, error: NodeRefused): Promise<void> {
  const isHeld = error.reason === "identifier_taken" && (await isHeldByLost(context, node, account));
  const waits = isHeld || (await isRestored(context.database, account.node_id ?? ""));
  const note = isHeld ? `${error.message} by a stray: see deedhouse node reconcile ${account.node_id}` : error.message;
  await (waits ? again(context, account, note, true) : giveUp(context, node, account, note));
}

async function isHeldByLost(context: Context, node: HostingNode, { identifier }: Account): Promise<boolean> {
  try {
    return await isHeldByLostAccount(context, node, identifier);
  } catch (error) {
    // It is asked again with the next try.
    if (error instanceof NodeUnavailable) return true;
    throw error;
  }
}

/** A node that is down keeps the account in doubt for as long as it takes; one that answers can be given up on. */
async function doubt(context: Context, node: HostingNode, account: Account, note: string): Promise<void> {
  if (ageMs(context, account) > givenUpAfterMs && (await isThere(node, account))) {
    await giveUp(context, node, account, note);
  } else await again(context, account, note);
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
  const happening = { event: "abandoned", note, errorText: failedText, alarm: `given up: ${note}` } as const;
  const abandoned = await record(context, account, happening);
  if (abandoned) await unmake(context, node, abandoned);
}

/** What was made is unmade before the identifier is free again. */
async function unmake(context: Context, node: HostingNode, account: Account): Promise<void> {
  try {
    // With a uid that was not compared yet the node may have something else, and has nothing of this account.
    if (!account.must_check_uid) await node.remove({ identifier: account.identifier, uid: account.uid });
  } catch (error) {
    if (error instanceof NodeUnavailable) return again(context, account, error.message);
    // It never took this account in, so there is nothing of it.
    if (!(error instanceof NodeRefused)) throw error;
  }
  await record(context, account, { event: "refused" });
}

function ageMs(context: Context, account: Account): number {
  return context.clock.now().getTime() - account.created_at.getTime();
}
