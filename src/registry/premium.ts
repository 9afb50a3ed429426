/** Premium names (RFC 8748 §3.7), and the operator's policy for them. */
import type { DomainAvailability } from "#registry/epp/commands/domain/check.ts";
import type { Money } from "#registry/epp/commands/domain/fee.ts";

/** The most that may be paid for one registration. */
export interface PremiumPolicy {
  readonly amountMax: number;
  /** ISO 4217. */
  readonly currency: string;
}

/** A standard name; one that is accepted at its price, which the create has to contain; or one that is refused. */
export type PremiumDecision = "standard" | "refuse" | ({ readonly decision: "accept" } & Money);

const standardClass = "standard";

/**
 * Whether to register an available name. A registry with classes gives every ordinary name the class "standard" (RFC 8748
 * §3.7). At a registry without classes every name is standard.
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
