/**
 * Settles a renewal whose registry shows no dates: an operator has asked the registry whether a renew was executed whose answer was
 * lost, and says so.
 */
import { statement } from "#db/statement.ts";
import { ChangeConflict, type ChangeContext } from "#domains/changes/change.ts";
import { write } from "#domains/changes/write.ts";
import { nextTermOf } from "#domains/renewals/kind-renew.ts";
import { findRenewal, renewalTable } from "#domains/renewals/renewals.ts";
import { nextRenewalState, renewalState } from "#domains/renewals/states.ts";
import { OperatorError } from "#operator-error.ts";

const openRenewalOf = statement("renewal-of-name", "SELECT renewal_id FROM domains WHERE domain_name = $domain_name", {
  renewal_id: "int8?",
});

export interface RenewalSettlement {
  isRenewed: boolean;
  note: string;
}

/**
 * If the renew was executed, the name is in its next term; if not, it is renewed as usual.
 * @throws OperatorError when the name is in no portfolio, or there is nothing to settle
 */
export async function settleRenewal(
  context: ChangeContext,
  domainName: string,
  { isRenewed, note }: RenewalSettlement,
): Promise<void> {
  const event = isRenewed ? "settled-renewed" : "settled-not-renewed";
  for (;;) {
    const [name] = await context.database.query(openRenewalOf, { domain_name: domainName });
    if (!name) throw new OperatorError("not-found", `no portfolio has ${domainName}`);
    const renewal = name.renewal_id === null ? undefined : await findRenewal(context, name.renewal_id);
    if (!renewal || !nextRenewalState(renewalState(renewal), event)) {
      const advice = `see deedhouse renewals show ${domainName}`;
      throw new OperatorError(
        "refused",
        `only a renew whose result the registry cannot show can be settled: ${advice}`,
      );
    }
    try {
      await write(context, renewalTable, renewal, { event, reason: note, ...(isRenewed && nextTermOf(renewal)) });
      return;
    } catch (error) {
      // A step has looked at the name meanwhile.
      if (!(error instanceof ChangeConflict)) throw error;
    }
  }
}
