/** Premium prices (RFC 8748 §3.7), and the operator's policy for them. */
import type { DomainAvailability } from "#registry/epp/commands/domain/check.ts";
import type { DomainFees, FeePrice, Money } from "#registry/epp/commands/domain/fee.ts";

/** The most that may be paid for one command. */
export interface PremiumPolicy {
  readonly amountMax: number;
  /** ISO 4217. */
  readonly currency: string;
}

/** A command that costs money. */
export interface PaidCommand {
  readonly command: "create" | "renew" | "restore";
  /** Absent for a restore, which has none. */
  readonly periodYears?: number;
}

/** What a command costs for an ordinary name, for its whole period. */
export interface OrdinaryPrice {
  readonly amount: number;
  /** ISO 4217. */
  readonly currency: string;
}

/** An ordinary price; a premium one that is accepted, and that the command has to contain; or one that is refused. */
export type PremiumDecision = "standard" | "refuse" | ({ readonly decision: "accept" } & Money);

/** A name's availability after the policy; `agreedFee` is the price of a premium name that the policy accepts. */
export interface PricedAvailability extends DomainAvailability {
  readonly agreedFee?: Money;
  /** Whether the registry has allocation tokens (RFC 8495); absent unless one was given. */
  readonly takesTokens?: boolean;
}

/** What a command about a name costs. */
export interface NamePrice {
  readonly decision: PremiumDecision;
  /** Absent where the registry gives none, or has no fees. */
  readonly price?: Money;
  /** What it costs for other names; absent where that is not known. */
  readonly ordinary?: OrdinaryPrice;
}

const standardClass = "standard";

/**
 * Whether to pay a command's price. One above the ordinary price is premium, whatever the name's class: classes are optional
 * (RFC 8748 §3.7), and some registries call every name standard.
 */
export function premiumDecision(
  { premium, ordinary }: { readonly premium: PremiumPolicy | undefined; readonly ordinary: OrdinaryPrice | undefined },
  { fees }: Pick<DomainAvailability, "fees">,
  command: PaidCommand["command"] = "create",
): PremiumDecision {
  const price = findPrice(fees, command);
  if (!fees || isOrdinary(fees, command, ordinary)) return "standard";
  if (!premium || price?.amount === undefined || fees.currency !== premium.currency) return "refuse";
  return Number(price.amount) <= premium.amountMax
    ? { decision: "accept", amount: price.amount, currency: fees.currency }
    : "refuse";
}

export function findPrice(fees: DomainFees | undefined, asked: PaidCommand["command"]): FeePrice | undefined {
  return fees?.prices.find(({ command }) => command === asked);
}

/** Whether the decision about a create depends on the ordinary price: a name with a special class is premium at any price. */
export function needsOrdinaryPrice(fees: DomainFees | undefined): boolean {
  return fees !== undefined && !hasOwnClass(fees, findPrice(fees, "create"));
}

function isOrdinary(fees: DomainFees, command: PaidCommand["command"], ordinary: OrdinaryPrice | undefined): boolean {
  const price = findPrice(fees, command);
  const isOfOwnClass = hasOwnClass(fees, price);
  // Its renewals may also cost more. The price of a renewal or a restore itself says more than the class.
  if (isOfOwnClass && command === "create") return false;
  const isSaidToBe = !isOfOwnClass && (price?.isStandard === true || fees.class !== undefined);
  if (price?.amount === undefined) return isSaidToBe || (!isOfOwnClass && ordinary === undefined);
  if (ordinary === undefined) return isSaidToBe;
  return fees.currency === ordinary.currency && millionths(Number(price.amount)) <= millionths(ordinary.amount);
}

function hasOwnClass(fees: DomainFees, price: FeePrice | undefined): boolean {
  return price?.isStandard !== true && (fees.class ?? standardClass).toLowerCase() !== standardClass;
}

/** As precise as the amounts of RFC 8748 that we read; a product of floats is not. */
const millionths = (amount: number) => Math.round(amount * 1_000_000);
