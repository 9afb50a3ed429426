/** An operator has asked the registry whether a renew of the schedule was executed that it does not show, and says so. */
import { statement } from "#db/statement.ts";
import { settleOrder } from "#domains/orders/operate.ts";
import type { OrderContext } from "#domains/orders/order.ts";
import { OperatorError } from "#operator-error.ts";

// Only a renew that may have been executed: its answer was lost, or the registry decided about it later.
const unclearRenewOf = statement(
  "renewal-to-settle",
  `SELECT placed.order_code FROM domains LEFT JOIN orders AS placed ON placed.renewal_id = domains.renewal_id
     AND placed.ended_at IS NULL AND placed.kind = 'renew' AND placed.operator_note IS NOT NULL
     AND (placed.status = 'Pending' OR placed.phase = 'verify')
   WHERE domains.domain_name = $domain_name`,
  { order_code: "text?" },
);

export interface RenewalSettlement {
  isRenewed: boolean;
  note: string;
}

/**
 * If the renew was executed, the name is in its next term; if not, another one is ordered. The next step does so.
 * @throws OperatorError when the name is in no portfolio, or there is nothing to settle
 */
export async function settleRenewal(
  context: OrderContext,
  domainName: string,
  { isRenewed, note }: RenewalSettlement,
): Promise<void> {
  const [name] = await context.database.query(unclearRenewOf, { domain_name: domainName });
  if (!name) throw new OperatorError("not-found", `no portfolio has ${domainName}`);
  if (name.order_code === null) {
    const advice = `see deedhouse renewals show ${domainName}`;
    throw new OperatorError("refused", `only a renew whose result the registry cannot show can be settled: ${advice}`);
  }
  await settleOrder(context, name.order_code, { as: isRenewed ? "done" : "failed", note });
}
