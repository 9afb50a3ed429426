import { addMonths } from "./clock.ts";
import { type EventContext, notify } from "./events.ts";
import { gracesInForce, withGrace } from "./graces.ts";
import { hostsBelow } from "./hosts-below.ts";
import { domainUri } from "./namespaces.ts";
import type { Domain, Transfer } from "./objects.ts";
import { registrationYearsMax } from "./settings.ts";
import { type Markup, optionalTag, tag } from "./xml.ts";

const monthsPerYear = 12;

/** The outcomes that are reported to the losing registrar too, because it did not cause them. */
const loserNotified: readonly Transfer["status"][] = ["clientCancelled", "serverApproved", "serverCancelled"];

/** Moves the name, and the hosts below it, to the registrar that requested it (RFC 5731 §3.2.4, RFC 5732 §1.1). */
export function approveTransfer(
  context: EventContext,
  domain: Domain,
  status: "clientApproved" | "serverApproved",
): Domain {
  const { store, now } = context;
  const transfer = domain.transfer!;
  const trDate = now().toISOString();
  const ended = end(context, domain, status);
  const given: Domain = {
    ...ended,
    clID: transfer.reID,
    trDate,
    exDate: exDateAfter(context, domain, transfer),
    graces: [],
  };
  const graces = withGrace(context, given, "transferPeriod", transfer.months);
  const approved = { ...given, graces };
  store.domains.put(approved);
  for (const host of hostsBelow(store, domain.name)) store.hosts.put({ ...host, clID: transfer.reID, trDate });
  notifyBoth(context, approved);
  return approved;
}

/** Ends a pending transfer without moving the name. @returns the name, unchanged if no transfer is pending */
export function cancelTransfer(
  context: EventContext,
  domain: Domain,
  status: "clientRejected" | "clientCancelled" | "serverCancelled",
): Domain {
  if (domain.transfer?.status !== "pending") return domain;
  const ended = end(context, domain, status);
  context.store.domains.put(ended);
  notifyBoth(context, ended);
  return ended;
}

function end({ now }: EventContext, domain: Domain, status: Transfer["status"]): Domain {
  const acDate = now().toISOString();
  const statuses = domain.statuses.filter((other) => other !== "pendingTransfer");
  return { ...domain, statuses, transfer: { ...domain.transfer!, status, acDate } };
}

function notifyBoth(context: EventContext, domain: Domain): void {
  const { status, reID, acID } = domain.transfer!;
  const registrars = [
    ...(status === "clientCancelled" ? [] : [reID]),
    ...(loserNotified.includes(status) ? [acID] : []),
  ];
  for (const registrar of registrars) notifyOfTransfer(context, domain, registrar, `The transfer ended: ${status}`);
}

/** Adds a message with `<domain:trnData>` (RFC 5731 §3.3). */
export function notifyOfTransfer(context: EventContext, domain: Domain, registrar: string, text: string): void {
  notify(context, domain, { registrar, text, xml: transferTag(context, domain).markup });
}

/**
 * The exDate after the transfer. A current automatic renewal is undone, so it does not add a second year; the maximum is ten
 * years from now.
 */
function exDateAfter({ now }: EventContext, domain: Domain, { months }: Transfer): string {
  const undone = gracesInForce(domain, now()).filter(({ status }) => status === "autoRenewPeriod");
  const undoneMonths = undone.reduce((sum, grace) => sum + grace.months, 0);
  const wanted = addMonths(new Date(domain.exDate), months - undoneMonths);
  const latest = addMonths(now(), registrationYearsMax * monthsPerYear);
  return (wanted < latest ? wanted : latest).toISOString();
}

/** `<domain:trnData>` of a name with a transfer; the exDate is that after the transfer, absent if the transfer failed. */
export function transferTag(context: EventContext, domain: Domain): Markup {
  const transfer = domain.transfer!;
  const { status, reID, reDate, acID, acDate } = transfer;
  const isGiven = status === "clientApproved" || status === "serverApproved";
  const exDate = status === "pending" ? exDateAfter(context, domain, transfer) : isGiven ? domain.exDate : undefined;
  return tag(
    "domain:trnData",
    { "xmlns:domain": domainUri },
    tag("domain:name", {}, domain.name),
    tag("domain:trStatus", {}, status),
    tag("domain:reID", {}, reID),
    tag("domain:reDate", {}, reDate),
    tag("domain:acID", {}, acID),
    tag("domain:acDate", {}, acDate),
    optionalTag("domain:exDate", exDate),
  );
}
