import { addDays } from "../clock.ts";
import { charge } from "../credit.ts";
import { requireDomainName } from "../domain-name.ts";
import type { Domain } from "../objects.ts";
import type { CommandContext, CommandHandler, Outcome } from "../registry.ts";
import { Refusal } from "../result-codes.ts";
import { approveTransfer, cancelTransfer, notifyOfTransfer, transferTag } from "../transfers.ts";
import { childToken, findChild } from "../xml.ts";
import { findAuthInfo, findDomain, monthsOf, requireRightAuthInfo, requireStatusAllows } from "./domain-data.ts";
import { agreedFee } from "./fees.ts";

const transferMonths = 12;

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
  approve: (context, domain) => {
    requirePending(context, domain, "acID");
    return answer(context, approveTransfer(context.registry, domain, "clientApproved"));
  },
  reject: (context, domain) => {
    requirePending(context, domain, "acID");
    return answer(context, cancelTransfer(context.registry, domain, "clientRejected"));
  },
  cancel: (context, domain) => {
    requirePending(context, domain, "reID");
    return answer(context, cancelTransfer(context.registry, domain, "clientCancelled"));
  },
};

function request(context: CommandContext, domain: Domain): Outcome {
  const { registry, registrar, element } = context;
  if (domain.clID === registrar) throw new Refusal(2106, "the name is yours already");
  if (!findChild(element, "authInfo")) throw new Refusal(2003, "a transfer needs the name's authInfo");
  if (domain.statuses.includes("pendingTransfer")) throw new Refusal(2300, "a transfer is pending already");
  requireStatusAllows(domain, "Transfer");
  const months = monthsOf(findChild(element, "period"));
  if (months !== transferMonths) throw new Refusal(2306, "a transfer is for one year");
  const extension = agreedFee(context, domain.name, "transfer", months);
  charge(registry, registrar, 1);

  const now = registry.now();
  const asked: Domain = {
    ...domain,
    statuses: [...domain.statuses, "pendingTransfer"],
    transfer: {
      status: "pending",
      reID: registrar,
      reDate: now.toISOString(),
      acID: domain.clID,
      acDate: addDays(now, registry.settings.transferDays).toISOString(),
      months,
    },
  };
  registry.store.domains.put(asked);
  notifyOfTransfer(registry, asked, domain.clID, "A transfer was requested");
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

function requirePending({ registrar }: CommandContext, { transfer }: Domain, side: "reID" | "acID"): void {
  if (transfer?.status !== "pending") throw new Refusal(2301, "no transfer is pending");
  if (transfer[side] !== registrar) throw new Refusal(2201, "only the other registrar may do this");
}

function answer({ registry }: CommandContext, domain: Domain): Outcome {
  return { code: 1000, resData: transferTag(registry, domain) };
}
