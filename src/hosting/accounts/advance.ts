/**
 * An account's step, whatever was changed: it reads the row and brings the account to what the row says. Killed anywhere, it
 * is run again. It goes to the node also when nothing seems to be left to do: a step that finds the row changed cannot know
 * whose command the node has executed last, and calls for another one.
 */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { type Account, callAccountNow, findAccount, letAccountRest } from "#hosting/accounts/accounts.ts";
import { applyAccount, removeAccount } from "#hosting/accounts/apply.ts";
import { provisionAccount } from "#hosting/accounts/provision.ts";
import { again } from "#hosting/accounts/tries.ts";
import { isMoving } from "#hosting/moves/move.ts";
import type { HostingNodes } from "#hosting/nodes/open.ts";

const holdersOf = statement(
  "hosting-host-name-holders",
  "SELECT DISTINCT account_id FROM host_names WHERE host_name = ANY ($names::text[]) AND status = 'Proven' AND account_id <> $account_id",
  { account_id: "int8" },
);

/** One step of the machine `hosting-accounts`. */
export async function advanceAccount(context: Context, nodes: HostingNodes, accountId: number): Promise<void> {
  const told = await findAccount(context.database, accountId);
  if (!told) return;
  await takeStep(context, nodes, told);
  const account = await findAccount(context.database, accountId);
  if (!account || account.wanted_version === told.wanted_version) return;
  await giveBack(context, told, account);
  await callAccountNow(context, context.database, accountId);
}

/** Host names that the node was given for this account too late belong to another one by now, which calls for them again. */
async function giveBack(context: Context, told: Account, account: Account): Promise<void> {
  const lost = told.host_names.filter((name) => !account.host_names.includes(name));
  if (lost.length === 0) return;
  const { database } = context;
  for (const { account_id } of await database.query(holdersOf, { names: lost, account_id: account.id })) {
    await callAccountNow(context, database, account_id);
  }
}

async function takeStep(context: Context, nodes: HostingNodes, account: Account): Promise<void> {
  if (account.status === "Failed" || account.status === "Removed") return letAccountRest(context, account);
  if (account.removal_requested_at) {
    // As long as another node has something of it, its identifier is not free there. The move's end comes back here at once.
    if (await isMoving(context.database, account.id)) await again(context, account, "another node has a copy of it");
    else await removeAccount(context, nodes, account);
  } else if (account.status === "Provisioning") await provisionAccount(context, nodes, account);
  else await applyAccount(context, nodes, account);
}
