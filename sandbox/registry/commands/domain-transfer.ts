import { charge } from "../credit.ts";
import { requireDomainName } from "../domain-name.ts";
import type { Domain, TransferAnswer } from "../objects.ts";
import type { CommandContext, CommandHandler, Outcome } from "../registry.ts";
import { Refusal } from "../result-codes.ts";
import { askForTransfer, endTransfer, transferMonths, transferTag } from "../transfers.ts";
import { childToken, findChild } from "../xml.ts";
import { findAuthInfo, findDomain, monthsOf, requireRightAuthInfo, requireTransferable } from "./domain-data.ts";
import { agreedFee } from "./fees.ts";
import { scheduledAction } from "./scheduled-action.ts";

type Operation = (context: CommandContext, domain: Domain) => Outcome;

/** RFC 5731 §3.1.3 and §3.2.4. A wrong authInfo is 2202 for every operation. */
export const transferDomain: CommandHandler = (context) => {
  const { registry, element, op } = context;
  const domain = findDomain(registry, requireDomainName(childToken(element, "name")));
  if (!domain) throw new Refusal(2303, "there is no such name");
  requireRightAuthInfo(findAuthInfo(element), domain);
  return operations[op ?? ""]!(context, domain);
};

const operations: Readonly<Record<string, Operation>> = {
  request,
  query,
  approve: ending("acID", "clientApproved"),
  reject: ending("acID", "clientRejected"),
  cancel: ending("reID", "clientCancelled"),
};

/** The answer of one registrar to the transfer. It can stay pending (RFC 5731 §3.3). */
function ending(side: "reID" | "acID", status: TransferAnswer): Operation {
  return (context, domain) => {
    requirePending(context, domain, side);
    const { registry } = context;
    const scheduled = scheduledAction(context);
    if (!scheduled) return answer(context, endTransfer(registry, domain, status, context.registrar));
    const waiting = { ...domain, scheduled: { ...scheduled, answer: status } };
    registry.store.domains.put(waiting);
    return { code: 1001, resData: transferTag(registry, waiting) };
  };
}

function request(context: CommandContext, domain: Domain): Outcome {
  const { registry, registrar, element } = context;
  if (domain.clID === registrar) throw new Refusal(2106, "the name is yours already");
  if (registry.settings.authInfo === "none") throw new Refusal(2106, "transfers need no command here");
  if (!findChild(element, "authInfo")) throw new Refusal(2003, "a transfer needs the name's authInfo");
  requireTransferable(domain);
  const months = monthsOf(registry, element);
  if (months !== transferMonths) throw new Refusal(2306, "a transfer is for one year");
  const extension = agreedFee(context, domain.name, "transfer", months);
  charge(registry, registrar, 1);
  const asked = askForTransfer(registry, domain, registrar);
  return { code: 1001, resData: transferTag(registry, asked), extension };
}

/** Both registrars may query, and a client with the authInfo. */
function query(context: CommandContext, domain: Domain): Outcome {
  const { registrar, element } = context;
  const { transfer } = domain;
  const mayKnow = [domain.clID, transfer?.reID, transfer?.acID].includes(registrar) || findChild(element, "authInfo");
  if (!mayKnow) throw new Refusal(2201, "the transfer is not yours");
  if (!transfer) throw new Refusal(2301, "the name was never transferred");
  return answer(context, domain);
}

function requirePending({ registrar }: CommandContext, { transfer, scheduled }: Domain, side: "reID" | "acID"): void {
  if (transfer?.status !== "pending") throw new Refusal(2301, "no transfer is pending");
  if (transfer[side] !== registrar) throw new Refusal(2201, "only the other registrar may do this");
  if (scheduled?.answer) throw new Refusal(2304, "an answer is pending already");
}

function answer({ registry }: CommandContext, domain: Domain): Outcome {
  return { code: 1000, resData: transferTag(registry, domain) };
}
