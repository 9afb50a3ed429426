/** Brings the node of an account to what the account's row says. */
import type { Context } from "#context.ts";
import { type Account, letAccountRest } from "#hosting/accounts/accounts.ts";
import { desiredAccount } from "#hosting/accounts/desired.ts";
import { again, record } from "#hosting/accounts/tries.ts";
import type { HostingNodes } from "#hosting/nodes/open.ts";
import { type HostingNode, NodeRefused, NodeUnavailable, type RefusalReason } from "#nodes/driver.ts";

/** One try at an account that is, or was, `Ready`: its node has what the row says, also when it had it before. */
export async function applyAccount(context: Context, nodes: HostingNodes, account: Account): Promise<void> {
  const node = await nodes.find(account.node_id ?? "");
  if (!node) return again(context, account, `the hosting node ${account.node_id} cannot be reached from here`);
  const isSuspended = account.suspended_at !== null;
  const resumes = account.status === "Suspended" && !isSuspended;
  try {
    await node.ensureAccount(desiredAccount(context, account));
    // `Ready` is said of what works.
    if (resumes) await node.probe({ identifier: account.identifier, uid: account.uid });
  } catch (error) {
    return tryAgain(context, account, error);
  }
  // What was said again, and worked at once, is no event.
  if (account.applied_version === account.wanted_version && account.backoff_count === 0) {
    return letAccountRest(context, account);
  }
  const suspends = account.status === "Ready" && isSuspended;
  await record(context, account, { event: resumes ? "resumed" : suspends ? "suspended" : "applied" });
}

/** Nothing of the account is there: it was never taken in, was removed already, or others have its identifier or uid. */
const notThere: readonly RefusalReason[] = ["account_unknown", "uid_retired", "identifier_taken", "uid_taken"];

/** One try at an account that shall be gone: its identifier is free once its node has said that it is. */
export async function removeAccount(context: Context, nodes: HostingNodes, account: Account): Promise<void> {
  // Of one that was only placed its node knows nothing, and with that uid it may have something else.
  if (account.node_id !== null && !account.must_check_uid) {
    const node = await nodes.find(account.node_id);
    if (!node) return again(context, account, `the hosting node ${account.node_id} cannot be reached from here`);
    try {
      await removeFrom(node, account);
    } catch (error) {
      return tryAgain(context, account, error);
    }
  }
  await record(context, account, { event: "removed" });
}

/** @throws NodeUnavailable; NodeRefused for a reason that does not mean that it is gone */
async function removeFrom(node: HostingNode, { identifier, uid }: Account): Promise<void> {
  try {
    await node.remove({ identifier, uid });
  } catch (error) {
    if (!(error instanceof NodeRefused && notThere.includes(error.reason))) throw error;
  }
}

/** An account that worked is not given up: what a node refuses is for a person. */
async function tryAgain(context: Context, account: Account, error: unknown): Promise<void> {
  if (!(error instanceof NodeUnavailable || error instanceof NodeRefused)) throw error;
  await again(context, account, error.message, error instanceof NodeRefused);
}
