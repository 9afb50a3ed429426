/** Names with a price of their own (RFC 8748 §3.7), and what an operator's policy says about them. */
import type { DomainAvailability } from "#registry/epp/commands/domain/check.ts";
import type { Money } from "#registry/epp/commands/domain/fee.ts";

/** What may be paid for one registration. */
export interface PremiumPolicy {
  readonly amountMax: number;
  /** ISO 4217. */
  readonly currency: string;
}

/** An ordinary name; one to be taken at its price, which the create has to name; or one that is not to be taken. */
export type PremiumDecision = "standard" | "refuse" | ({ readonly decision: "accept" } & Money);

const standardClass = "standard";

/**
 * Whether a name that a check called available is to be registered. A registry that uses classes calls every ordinary
 * name "standard" (RFC 8748 §3.7); one that does not tells nothing, and the name is ordinary.
 */
export function premiumDecision(
  profile: { readonly premium: PremiumPolicy | undefined },
  availability: Pick<DomainAvailability, "fees">,
): PremiumDecision {
  const { fees } = availability;
  const price = fees?.prices.find(({ command }) => command === "create");
  if (!fees || price?.isStandard || (fees.class ?? standardClass).toLowerCase() === standardClass) return "standard";
  const { premium } = profile;
  if (!premium || price?.amount === undefined || fees.currency !== premium.currency) return "refuse";
  return Number(price.amount) <= premium.amountMax
    ? { decision: "accept", amount: price.amount, currency: fees.currency }
    : "refuse";
}
