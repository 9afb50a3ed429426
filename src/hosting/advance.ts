/**
 * An account's job, whatever was changed: it reads the row and brings the account to what the row says. Killed anywhere, it
 * is run again. It goes to the node also when nothing seems to be left to do: whoever finds that the row has changed under
 * it cannot know whose word came last there, and says the newest again.
 */
import type { Context } from "#context.ts";
import { type Account, findAccount } from "#hosting/accounts.ts";
import { applyAccount, removeAccount } from "#hosting/apply.ts";
import { isMoving } from "#hosting/move.ts";
import type { HostingNodes } from "#hosting/nodes-open.ts";
import { provisionAccount } from "#hosting/provision.ts";
import { again } from "#hosting/tries.ts";

/** The task `provision`. */
export async function advanceAccount(context: Context, nodes: HostingNodes, accountId: number): Promise<void> {
  let account = await findAccount(context.database, accountId);
  while (account) {
    const { wanted_version } = account;
    await takeStep(context, nodes, account);
    account = await findAccount(context.database, accountId);
    if (account?.wanted_version === wanted_version) return;
  }
}

async function takeStep(context: Context, nodes: HostingNodes, account: Account): Promise<void> {
  if (account.status === "Failed" || account.status === "Removed") return;
  if (account.removal_requested_at) {
    // As long as another node has something of it, its identifier is not free there. The move's end comes back here at once.
    if (await isMoving(context.database, account.id)) await again(context, account, "another node has a copy of it");
    else await removeAccount(context, nodes, account);
  } else if (account.status === "Provisioning") await provisionAccount(context, nodes, account);
  else await applyAccount(context, nodes, account);
}
