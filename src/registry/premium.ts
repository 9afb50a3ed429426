/** Premium names (RFC 8748 §3.7), and the operator's policy for them. */
import type { DomainAvailability } from "#registry/epp/commands/domain/check.ts";
import type { DomainFees, FeePrice, Money } from "#registry/epp/commands/domain/fee.ts";

/** The most that may be paid for one registration. */
export interface PremiumPolicy {
  readonly amountMax: number;
  /** ISO 4217. */
  readonly currency: string;
}

/** What an ordinary registration costs, for its whole period. */
export interface OrdinaryPrice {
  readonly amount: number;
  /** ISO 4217. */
  readonly currency: string;
}

/** A standard name; one that is accepted at its price, which the create has to contain; or one that is refused. */
export type PremiumDecision = "standard" | "refuse" | ({ readonly decision: "accept" } & Money);

/** A name's availability after the policy; `agreedFee` is the price of a premium name that the policy accepts. */
export interface PricedAvailability extends DomainAvailability {
  readonly agreedFee?: Money;
  /** Whether the registry has allocation tokens (RFC 8495); absent unless one was given. */
  readonly takesTokens?: boolean;
}

const standardClass = "standard";

/**
 * Whether to register an available name. A price above the ordinary one makes it premium, whatever its class: classes are
 * optional (RFC 8748 §3.7), and some registries call every name standard.
 */
export function premiumDecision(
  { premium, ordinary }: { readonly premium: PremiumPolicy | undefined; readonly ordinary: OrdinaryPrice | undefined },
  { fees }: Pick<DomainAvailability, "fees">,
): PremiumDecision {
  const price = findCreatePrice(fees);
  if (!fees || isOrdinary(fees, price, ordinary)) return "standard";
  if (!premium || price?.amount === undefined || fees.currency !== premium.currency) return "refuse";
  return Number(price.amount) <= premium.amountMax
    ? { decision: "accept", amount: price.amount, currency: fees.currency }
    : "refuse";
}

export function findCreatePrice(fees: DomainFees | undefined): FeePrice | undefined {
  return fees?.prices.find(({ command }) => command === "create");
}

/** Whether the decision depends on the ordinary price. A name with a class of its own is premium at any price: renewals may cost more. */
export function needsOrdinaryPrice(fees: DomainFees | undefined): boolean {
  return fees !== undefined && !hasOwnClass(fees, findCreatePrice(fees));
}

function isOrdinary(fees: DomainFees, price: FeePrice | undefined, ordinary: OrdinaryPrice | undefined): boolean {
  if (hasOwnClass(fees, price)) return false;
  const isSaidToBe = price?.isStandard === true || fees.class !== undefined;
  if (price?.amount === undefined) return isSaidToBe || ordinary === undefined;
  if (ordinary === undefined) return isSaidToBe;
  return fees.currency === ordinary.currency && millionths(Number(price.amount)) <= millionths(ordinary.amount);
}

function hasOwnClass(fees: DomainFees, price: FeePrice | undefined): boolean {
  return price?.isStandard !== true && (fees.class ?? standardClass).toLowerCase() !== standardClass;
}

/** As precise as the amounts of RFC 8748 that we read; a product of floats is not. */
const millionths = (amount: number) => Math.round(amount * 1_000_000);
