/** Accounts of a node that a gateway of an earlier release commanded directly: each gets its desired state, for the node's agent. */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { desiredAccount, findAccount } from "#hosting/accounts/accounts.ts";
import { adoptState } from "#hosting/channel/desired.ts";

// An account that is still being provisioned, or is to be removed, gets its state with the next step of its job.
const unrecordedAccounts = statement(
  "node-accounts-without-state",
  `SELECT id FROM hosting_accounts AS account
   WHERE node_id = $node_id AND status IN ('Ready', 'Suspended') AND removal_requested_at IS NULL
     AND NOT EXISTS (SELECT FROM node_states AS state WHERE state.node_id = $node_id AND state.uid = account.uid)
   ORDER BY id`,
  { id: "int8" },
);

/** It may run again after it was interrupted. An account whose state is recorded is left alone. */
export async function adoptAccounts(
  context: Pick<Context, "database" | "sealer" | "clock">,
  nodeId: string,
): Promise<void> {
  for (const { id } of await context.database.query(unrecordedAccounts, { node_id: nodeId })) {
    const account = await findAccount(context.database, id);
    if (account?.node_id === nodeId) await adoptState(context, nodeId, desiredAccount(context, account));
  }
}
