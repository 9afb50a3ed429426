/** Operators' retries of what waits. */
import { makeAccountDue } from "#hosting/accounts/accounts.ts";
import { lockAccount } from "#hosting/accounts/find-account.ts";
import { getNode } from "#hosting/nodes/manage.ts";
import { wakeOnNode } from "#hosting/nodes/wake.ts";
import { OperatorError } from "#operator-error.ts";
import type { OperatorContext } from "#resellers/create.ts";

/** Makes the account due now. @throws OperatorError when there is nothing to retry */
export async function retryAccount(
  context: OperatorContext,
  text: string,
): Promise<{ id: number; identifier: string }> {
  return context.database.transaction(async (tx) => {
    const account = await lockAccount(tx, text);
    if (account.status === "Failed") {
      throw new OperatorError("refused", `${account.identifier} is Failed: create it again, its identifier is free`);
    }
    await makeAccountDue(context, tx, account.id);
    return account;
  });
}

/** Makes everything due now that waits for a node. @throws OperatorError when there is no such node */
export async function retryNode(
  context: OperatorContext,
  nodeId: string,
): Promise<{ accounts: number; moves: number }> {
  await getNode(context, nodeId);
  return wakeOnNode(context, nodeId);
}
