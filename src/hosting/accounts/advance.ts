/**
 * The step of an account, whatever was changed: it reads the row and brings the node to what the row says. A step that was
 * killed is run again. It calls the node even when nothing seems to be left to do: if the row changed during an earlier
 * step, nobody knows which of two commands the node has executed last.
 */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import {
  type Account,
  clearNextStep,
  desiredAccount,
  findAccount,
  findNodeOrRetry,
  makeAccountDue,
  recordEvent,
  retryLater,
} from "#hosting/accounts/accounts.ts";
import { provisionAccount } from "#hosting/accounts/provision.ts";
import { isMoving } from "#hosting/moves/move.ts";
import type { HostingNodes } from "#hosting/nodes/open.ts";
import { NodeRefused, NodeUnavailable, type RefusalReason } from "#nodes/driver.ts";

const holdersOf = statement(
  "hosting-host-name-holders",
  `SELECT DISTINCT account_id FROM host_names
   WHERE host_name = ANY ($names::text[]) AND status = 'Proven' AND account_id <> $account_id`,
  { account_id: "int8" },
);

/** One step of the machine `hosting-accounts`. */
export async function advanceAccount(context: Context, nodes: HostingNodes, accountId: number): Promise<void> {
  const { database } = context;
  const before = await findAccount(database, accountId);
  if (!before) return;
  await takeStep(context, nodes, before);
  const account = await findAccount(database, accountId);
  if (!account || account.wanted_version === before.wanted_version) return;
  // The step may have given the node host names that belong to other accounts by now. Their steps fetch them back.
  const lost = before.host_names.filter((name) => !account.host_names.includes(name));
  for (const { account_id } of await database.query(holdersOf, { names: lost, account_id: accountId })) {
    await makeAccountDue(context, database, account_id);
  }
  await makeAccountDue(context, database, accountId);
}

async function takeStep(context: Context, nodes: HostingNodes, account: Account): Promise<void> {
  if (account.status === "Failed" || account.status === "Removed") await clearNextStep(context, account);
  else if (account.removal_requested_at) await removeAccount(context, nodes, account);
  else if (account.status === "Provisioning") await provisionAccount(context, nodes, account);
  else await applyAccount(context, nodes, account);
}

async function applyAccount(context: Context, nodes: HostingNodes, account: Account): Promise<void> {
  const node = await findNodeOrRetry(context, nodes, account);
  if (!node) return;
  const isResumption = account.status === "Suspended" && !account.is_to_be_suspended;
  try {
    await node.ensureAccount(desiredAccount(context, account));
    // `Ready` means that the account works.
    if (isResumption) await node.probe({ identifier: account.identifier, uid: account.uid });
  } catch (error) {
    return retryAfter(context, account, error);
  }
  // A repetition that succeeds at once is no event.
  if (account.applied_version === account.wanted_version && account.backoff_count === 0) {
    return clearNextStep(context, account);
  }
  const isSuspension = account.status === "Ready" && account.is_to_be_suspended;
  await recordEvent(context, account, { event: isResumption ? "resumed" : isSuspension ? "suspended" : "applied" });
}

/** The node has nothing of the account: it never accepted it, has removed it, or has another one with its identifier or uid. */
const absent: readonly RefusalReason[] = ["account_unknown", "uid_retired", "identifier_taken", "uid_taken"];

/** The identifier is free only after the node has confirmed the removal. */
async function removeAccount(context: Context, nodes: HostingNodes, account: Account): Promise<void> {
  const { identifier, uid } = account;
  // The other node still has the identifier. The end of the move makes the account due.
  if (await isMoving(context.database, account.id)) {
    return retryLater(context, account, "another node has a copy of it");
  }
  // An account that was only placed is unknown to its node, which may have another one with that uid.
  if (account.node_id !== null && !account.must_check_uid) {
    const node = await findNodeOrRetry(context, nodes, account);
    if (!node) return;
    try {
      await node.remove({ identifier, uid });
    } catch (error) {
      if (!(error instanceof NodeRefused && absent.includes(error.reason))) return retryAfter(context, account, error);
    }
  }
  await recordEvent(context, account, { event: "removed" });
}

/** An account that has worked is not given up: what a node refuses requires action. */
async function retryAfter(context: Context, account: Account, error: unknown): Promise<void> {
  if (!(error instanceof NodeUnavailable || error instanceof NodeRefused)) throw error;
  await retryLater(context, account, error.message, error instanceof NodeRefused);
}
