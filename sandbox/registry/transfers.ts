import { addDays, addMonths } from "./clock.ts";
import { type EventContext, notify } from "./events.ts";
import { gracesInForce, withGrace } from "./graces.ts";
import { hostsBelow } from "./hosts-below.ts";
import { domainUri } from "./namespaces.ts";
import type { Domain, Transfer } from "./objects.ts";
import { registrationYearsMax } from "./settings.ts";
import { type Markup, optionalTag, tag } from "./xml.ts";

const monthsPerYear = 12;

/** The months that a transfer adds to the registration. */
export const transferMonths = 12;

/** Begins a transfer of a name that may be transferred, and notifies its registrar (RFC 5731 §3.3). */
export function askForTransfer(context: EventContext, domain: Domain, registrar: string): Domain {
  const now = context.now();
  const acDate = addDays(now, context.settings.transferDays).toISOString();
  const asked: Domain = {
    ...domain,
    statuses: [...domain.statuses, "pendingTransfer"],
    transfer: {
      status: "pending",
      reID: registrar,
      reDate: now.toISOString(),
      acID: domain.clID,
      acDate,
      months: transferMonths,
    },
  };
  context.store.domains.put(asked);
  notifyOfTransfer(context, asked, domain.clID, "A transfer was requested");
  return asked;
}

/** How a transfer ends. */
export type TransferEnd = Exclude<Transfer["status"], "pending">;

/**
 * Ends a pending transfer: an approved one moves the name. Both registrars get a message, but not `sender`, whose command
 * ended it.
 */
export function endTransfer(context: EventContext, domain: Domain, status: TransferEnd, sender?: string): Domain {
  const isApproved = status === "clientApproved" || status === "serverApproved";
  const ended = isApproved ? approveTransfer(context, domain, status) : end(context, domain, status);
  if (!isApproved) context.store.domains.put(ended);
  const { reID, acID } = domain.transfer!;
  for (const registrar of [reID, acID]) {
    if (registrar !== sender) notifyOfTransfer(context, ended, registrar, `The transfer ended: ${status}`);
  }
  return ended;
}

/** Moves the name, and the hosts below it, to the registrar that requested it (RFC 5731 §3.2.4, RFC 5732 §1.1). */
function approveTransfer(context: EventContext, domain: Domain, status: "clientApproved" | "serverApproved"): Domain {
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
  return approved;
}

function end({ now }: EventContext, domain: Domain, status: Transfer["status"]): Domain {
  const acDate = now().toISOString();
  const statuses = domain.statuses.filter((other) => other !== "pendingTransfer");
  const scheduled = domain.scheduled?.answer ? undefined : domain.scheduled;
  return { ...domain, statuses, scheduled, transfer: { ...domain.transfer!, status, acDate } };
}

/** Adds a message with `<domain:trnData>` (RFC 5731 §3.3). */
function notifyOfTransfer(context: EventContext, domain: Domain, registrar: string, text: string): void {
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
