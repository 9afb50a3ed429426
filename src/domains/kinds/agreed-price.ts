/**
 * The price of a command, and whether it is agreed to. Nobody has seen it before, so an ordinary price is agreed to, and a premium
 * one only up to what the operator's policy allows: for what a reseller orders, and for what the schedule renews by itself, each
 * with a maximum of its own. A create's price is usually agreed to earlier, when its name is checked.
 */
import type { FoundFee, Making } from "#domains/orders/kind.ts";
import type { Order } from "#domains/orders/order.ts";
import { type RegistrySessions, sessionWaitMs } from "#domains/registry/sessions.ts";
import type { EppCommand } from "#registry/epp/command.ts";
import type { Money } from "#registry/epp/commands/domain/fee.ts";
import { EppCheckRefused } from "#registry/epp/errors.ts";
import type { NamePrice, PaidCommand, PremiumPolicy } from "#registry/premium.ts";
import type { RegistryProfile } from "#registry/registries.ts";

export type AgreedPrice =
  /** @param fee what the command has to say; absent where the registry gives no price */
  | { is: "agreed"; fee?: Money }
  /** It is premium, and the policy does not allow it. */
  | { is: "refused"; reason: string }
  /** The registry did not say it. @param needsOperator it refuses the question, and would again */
  | { is: "unknown"; reason: string; needsOperator: boolean };

/** Asks the registry for the price. Never throws. @param by whether a reseller has ordered it, or the schedule renews the name */
export async function agreePrice(
  { pool, profile }: RegistrySessions,
  name: string,
  asked: PaidCommand,
  by: "order" | "schedule",
): Promise<AgreedPrice> {
  const purpose = by === "schedule" ? "renewal" : asked.command === "create" ? "check" : "urgent-change";
  try {
    const premium = policyOf(profile, by);
    const found = await pool.findPrice(name, asked, { purpose, waitMs: sessionWaitMs, premium });
    if (found.decision === "refuse") return { is: "refused", reason: describeRefusal(asked, found) };
    const { price } = found;
    // Only a fee is agreed to: the sum can be a credit (RFC 8748 §3.4).
    return { is: "agreed", ...(price && Number(price.amount) >= 0 && { fee: price }) };
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    const reason = `the price of the ${whatOf(asked)} could not be asked: ${said}`;
    return { is: "unknown", reason, needsOperator: error instanceof EppCheckRefused && error.isAboutQuestion };
  }
}

function policyOf({ premium }: RegistryProfile, by: "order" | "schedule"): PremiumPolicy | undefined {
  if (!premium || by === "order") return premium;
  const { renewalAmountMax: amountMax, currency } = premium;
  return amountMax === undefined ? undefined : { amountMax, currency };
}

const names = { create: "registration", renew: "renewal", restore: "restore" };
const whatOf = ({ command }: PaidCommand) => names[command];

function describeRefusal(asked: PaidCommand, { price, ordinary }: NamePrice): string {
  const what = whatOf(asked);
  if (!price) return `nothing was sent, because the registry gives no price for the ${what} of this premium name`;
  const others = ordinary
    ? `${plain(ordinary.amount)} ${ordinary.currency} for other names`
    : "unknown for other names";
  return `nothing was sent, because the ${what} of this name costs ${price.amount} ${price.currency}, and it is ${others}`;
}

/** Without the traces of a product of floats. */
const plain = (amount: number) => String(Number(amount.toFixed(6)));

/**
 * A command that is sent with its price once that is agreed to. It is asked after the lookup, so that nothing is asked about a command
 * that is not sent, and no price decides about one that was.
 */
export const atAgreedPrice = (
  sessions: RegistrySessions,
  order: Order,
  asked: PaidCommand,
  withFee: (fee?: Money) => EppCommand<unknown>,
): Making => ({
  name: withFee().name,
  async make() {
    const price = await agreePrice(
      sessions,
      order.domain_name,
      asked,
      order.renewal_id === null ? "order" : "schedule",
    );
    if (price.is === "refused") return { instead: { is: "refused", as: "rejected", reason: price.reason } };
    if (price.is === "unknown") {
      const { reason, needsOperator } = price;
      return { instead: { is: "unknown", reason, ...(needsOperator && { operatorNote: reason }) } };
    }
    order.found = { ...(order.found as object), fee: price.fee } satisfies FoundFee;
    return withFee(price.fee);
  },
});
