/**
 * The kind `auth-code`: a name's authInfo, with which another registrar can request its transfer (RFC 9154). `<info>` need not
 * show it, so an answer 1000 is the proof. A code is drawn once, so after a lost answer the same one is set again. Where the code is the
 * registry's, the order fetches it, or makes the registry send it to the holder.
 */
import { statement } from "#db/statement.ts";
import { type OrderKind, type Plan, whileHeld } from "#domains/orders/kind.ts";
import { type Order, secretRow } from "#domains/orders/order.ts";
import { describeAnswer } from "#domains/orders/send.ts";
import type { Ask } from "#domains/registry/ask.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import { newAuthCode } from "#lib/auth-code.ts";
import { type DomainInfo, domainInfo } from "#registry/epp/commands/domain/info.ts";
import { domainCodeRequest, domainUpdate } from "#registry/epp/commands/domain/update.ts";
import { flavourOf } from "#registry/flavours/flavours.ts";

const codeOfName = statement("auth-code-of-name", "SELECT order_code FROM auth_codes WHERE domain_name = $name", {
  order_code: "text",
});

// The order's end makes it readable, and erases it here.
const keepIssued = statement(
  "auth-code-issued",
  "UPDATE orders SET secret_sealed = $sealed WHERE id = $id AND version = $version RETURNING version",
  { version: "int8" },
);

/** RFC 5730 §3. */
const doneCode = 1000;

/** What an order of the kind `auth-code` asks for: a code to read, or the end of an earlier one. */
export type AuthCodeInput = { readable_hours: number } | { replaces: string };

export const authCodeKind: OrderKind = {
  name: "auth-code",
  isUrgent: false,
  isEachDone: true,
  pendingStatus: "pendingUpdate",

  plan: whileHeld((sessions, order, info, ask) => {
    const { authInfo } = sessions.profile;
    if (flavourOf(sessions.profile)?.issuesCodes) return askRegistry(sessions, order, ask);
    if (authInfo === "shown") return planShown(sessions, order, info);
    if (authInfo === "holder") return planForHolder(sessions, order);
    if (order.attempts.some(({ result_code }) => result_code === doneCode)) return { is: "done" };
    const input = order.input as AuthCodeInput;
    if ("replaces" in input) return planEnd(sessions, order, input.replaces);
    const { domain_name: name, order_code, secret_sealed } = order;
    if (secret_sealed === null) throw new Error("an auth code is erased only at its order's end");
    const code = sessions.context.sealer.open(secretRow(order_code), secret_sealed);
    if (info.authInfo?.reveal() === code.reveal()) return { is: "done" };
    return { is: "send", command: domainUpdate({ name, authInfo: code }) };
  }),
};

/**
 * Asks a registry that issues codes itself: the answer to an info has the code, and a repeated one the same. A code that has
 * expired here is withdrawn there.
 */
async function askRegistry({ context, profile }: RegistrySessions, order: Order, ask: Ask): Promise<Plan> {
  const { domain_name: name, order_code: changeCode, input } = order;
  const isEnd = "replaces" in (input as AuthCodeInput);
  if (isEnd && !(await isPresent(context, name, (input as { replaces: string }).replaces))) return { is: "done" };
  const answer = await ask(domainInfo(name, { issuedCode: isEnd ? "cancel" : "request" })).catch(
    (error: Error) => error,
  );
  if (answer instanceof Error) return { is: "unknown", reason: answer.message };
  if (answer.code !== doneCode) {
    return { is: "refused", as: "failed", reason: `the registry issues no code: ${describeAnswer(answer)}` };
  }
  if (isEnd) return { is: "done" };
  const code = answer.data?.authInfo;
  if (!code) return { is: "unknown", reason: `${profile.id} has answered the request for an auth code without one` };
  return (await keepSecret(context, order, context.sealer.seal(secretRow(changeCode), code))) ?? { is: "done" };
}

/** A registry whose `<info>` shows the code, which is its own. At its end here it stays valid there: nobody but the registry changes it. */
async function planShown({ context, profile }: RegistrySessions, order: Order, info: DomainInfo): Promise<Plan> {
  if ("replaces" in (order.input as AuthCodeInput)) return { is: "done" };
  if (!info.authInfo) return { is: "unknown", reason: `${profile.id} shows no auth code of the name` };
  const sealed = context.sealer.seal(secretRow(order.order_code), info.authInfo);
  return (await keepSecret(context, order, sealed)) ?? { is: "done" };
}

/** The code that was drawn when the order was accepted is nobody's. Asked again after a lost answer, the registry sends it twice. */
async function planForHolder({ context }: RegistrySessions, order: Order): Promise<Plan> {
  const { attempts, domain_name: name, input, secret_sealed } = order;
  if ("replaces" in (input as AuthCodeInput)) return { is: "done" };
  const changed = secret_sealed === null ? undefined : await keepSecret(context, order, null);
  if (changed) return changed;
  if (attempts.some(({ result_code }) => result_code === doneCode)) return { is: "done" };
  return { is: "send", command: domainCodeRequest(name) };
}

/** Replaces the secret with which the order ends. @returns why it could not */
async function keepSecret(
  { database }: RegistrySessions["context"],
  order: Order,
  sealed: Buffer | null,
): Promise<Plan | undefined> {
  const [kept] = await database.query(keepIssued, { id: order.id, version: order.version, sealed });
  if (!kept) return { is: "unknown", reason: "the order was changed while the registry was asked" };
  order.version = kept.version;
  order.secret_sealed = sealed;
  return undefined;
}

/** Replaces a code at its end, unless a newer order has set another one meanwhile. */
async function planEnd(
  { context, profile }: RegistrySessions,
  { domain_name: name }: Order,
  replaced: string,
): Promise<Plan> {
  if (!(await isPresent(context, name, replaced))) return { is: "done" };
  // Nobody keeps it, so each attempt draws its own.
  const authInfo = profile.spentAuthInfo === "removed" ? null : newAuthCode(context.random);
  return { is: "send", command: domainUpdate({ name, authInfo }) };
}

/** Whether a code is still the name's: a newer order may have set another one. */
async function isPresent(
  { database }: RegistrySessions["context"],
  name: string,
  changeCode: string,
): Promise<boolean> {
  const [present] = await database.query(codeOfName, { name });
  return present?.order_code === changeCode;
}
