/**
 * An account's job, whatever was changed: it reads the row and brings the account to what the row says. Killed anywhere, it
 * is run again. It goes to the node also when nothing seems to be left to do: whoever finds that the row has changed under
 * it cannot know whose word came last there, and says the newest again.
 */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { type Account, findAccount } from "#hosting/accounts/accounts.ts";
import { applyAccount, removeAccount } from "#hosting/accounts/apply.ts";
import { provisionAccount } from "#hosting/accounts/provision.ts";
import { again } from "#hosting/accounts/tries.ts";
import { isMoving } from "#hosting/moves/move.ts";
import type { HostingNodes } from "#hosting/nodes/open.ts";
import { enqueueProvision } from "#queue/enqueue.ts";

const holdersOf = statement(
  "hosting-host-name-holders",
  "SELECT DISTINCT account_id FROM host_names WHERE host_name = ANY ($1::text[]) AND status = 'Proven' AND account_id <> $2",
  { account_id: "int8" },
);

/** The task `provision`. */
export async function advanceAccount(context: Context, nodes: HostingNodes, accountId: number): Promise<void> {
  let account = await findAccount(context.database, accountId);
  while (account) {
    const told = account;
    await takeStep(context, nodes, told);
    account = await findAccount(context.database, accountId);
    if (account?.wanted_version === told.wanted_version) return;
    if (account) await giveBack(context, told, account);
  }
}

/** Host names of which we were late to say that they are the account's are taken from whose they are by now: he is told anew. */
async function giveBack({ database }: Context, told: Account, account: Account): Promise<void> {
  const lost = told.host_names.filter((name) => !account.host_names.includes(name));
  if (lost.length === 0) return;
  for (const { account_id } of await database.query(holdersOf, [lost, account.id])) {
    await enqueueProvision(database, account_id, 0);
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
