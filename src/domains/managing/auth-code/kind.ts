/**
 * The kind `auth-code`: a name's authInfo, with which another registrar can request its transfer (RFC 9154). `<info>` need not
 * show it, so an answer 1000 is the proof. A code is drawn once, so after a lost answer the same one is set again.
 */
import { statement } from "#db/statement.ts";
import type { AuthCodeInput } from "#domains/managing/auth-code/rows.ts";
import { type ChangeOrder, changeSecretRow } from "#domains/managing/change-orders.ts";
import { type OrderKind, type Plan, whileHeld } from "#domains/managing/order-kind.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import { newAuthCode } from "#lib/auth-code.ts";
import { domainUpdate } from "#registry/epp/commands/domain/update.ts";

const codeOfName = statement("auth-code-of-name", "SELECT change_code FROM auth_codes WHERE domain_name = $name", {
  change_code: "text",
});

/** RFC 5730 §3. */
const doneCode = 1000;

export const authCodeKind: OrderKind = {
  name: "auth-code",
  isUrgent: false,
  isEachDone: true,
  pendingStatus: "pendingUpdate",

  plan: whileHeld((sessions, order, info) => {
    if (order.attempts.some(({ result_code }) => result_code === doneCode)) return { is: "done" };
    const input = order.input as AuthCodeInput;
    if ("replaces" in input) return planEnd(sessions, order, input.replaces);
    const { domain_name: name, change_code, secret_sealed } = order;
    if (secret_sealed === null) throw new Error("an auth code is erased only at its order's end");
    const code = sessions.context.sealer.open(changeSecretRow(change_code), secret_sealed);
    if (info.authInfo?.reveal() === code.reveal()) return { is: "done" };
    return { is: "send", command: domainUpdate({ name, authInfo: code }) };
  }),
};

/** Replaces a code at its end, unless a newer order has set another one meanwhile. */
async function planEnd(
  { context, profile }: RegistrySessions,
  { domain_name: name }: ChangeOrder,
  replaced: string,
): Promise<Plan> {
  const [present] = await context.database.query(codeOfName, { name });
  if (present?.change_code !== replaced) return { is: "done" };
  // Nobody keeps it, so each attempt draws its own.
  const authInfo = profile.spentAuthInfo === "removed" ? null : newAuthCode(context.random);
  return { is: "send", command: domainUpdate({ name, authInfo }) };
}
