import type { RegistrySessions } from "#domains/registry/sessions.ts";
import type { Renewal, RenewalOutcome } from "#domains/schedule/renewals.ts";
import { newOrderCode } from "#lib/order-code.ts";

/** The order that a renewal places. Its first one has its code: no other order has these random characters. */
export function scheduledOrder(
  { context }: RegistrySessions,
  { renewal_code, order_code }: Renewal,
  kind: "renew" | "delete",
  input: object,
): NonNullable<RenewalOutcome["places"]> {
  const prefix = kind === "renew" ? "REN" : "CHG";
  const code = order_code === null ? prefix + renewal_code.slice(prefix.length) : newOrderCode(context.random, prefix);
  return { code, kind, input };
}
