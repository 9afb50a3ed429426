import { addMonths } from "../clock.ts";
import { charge } from "../credit.ts";
import { isServed, requireDomainName } from "../domain-name.ts";
import { withGrace } from "../graces.ts";
import { askedByLabel } from "../labels.ts";
import { domainUri, feeUri, secDnsUri } from "../namespaces.ts";
import type { Domain, ScheduledAction } from "../objects.ts";
import type { CommandContext, CommandHandler } from "../registry.ts";
import { Refusal } from "../result-codes.ts";
import { childToken, findChild, type Markup, tag, tokenOf } from "../xml.ts";
import { delegationOf } from "./delegation.ts";
import { createDnsSecurity } from "./dns-security.ts";
import {
  contactsOf,
  findAuthInfo,
  findDomain,
  monthsOf,
  monthsPerYear,
  nextRoid,
  registerForOther,
  requireContact,
} from "./domain-data.ts";
import { agreedFee } from "./fees.ts";

/** RFC 5731 §3.2.1, with RFC 5910 §5.2.1 and RFC 8748 §5.2.1. Mistakes of the command come before the effect of a label. */
export const createDomain: CommandHandler = (context) => {
  const { registry, effect } = context;
  const domain = newDomain(context);
  const fee = feeFor(context, domain.name);
  if (effect.raced && !findDomain(registry, domain.name)) registerForOther(registry, domain.name);
  if (findDomain(registry, domain.name)) throw new Refusal(2302, "the name is in use");

  const isPending = effect.scheduled !== undefined && effect.scheduled !== "undo";
  charge(registry, context.registrar, monthsOf(findChild(context.element, "period")) / monthsPerYear);
  const scheduled = scheduledAction(context);
  const created: Domain = { ...domain, statuses: isPending ? ["pendingCreate"] : [], scheduled };
  registry.store.domains.put(created);
  return {
    code: isPending ? 1001 : 1000,
    resData: tag(
      "domain:creData",
      { "xmlns:domain": domainUri },
      tag("domain:name", {}, created.name),
      tag("domain:crDate", {}, created.crDate),
      tag("domain:exDate", {}, created.exDate),
    ),
    extension: fee,
  };
};

function newDomain({ registry, registrar, element, extensions }: CommandContext): Domain {
  const name = requireDomainName(childToken(element, "name"));
  if (!isServed(name, registry.suffixes)) throw new Refusal(2306, "this registry does not have the suffix");
  const months = monthsOf(findChild(element, "period"));
  const ns = findChild(element, "ns");
  const delegation = ns && delegationOf(registry, ns, name);
  const authInfo = findAuthInfo(element) ?? "";
  const secDns = extensions.find(({ uri }) => uri === secDnsUri);
  const security = secDns && createDnsSecurity(secDns);
  const registrant = findChild(element, "registrant");
  if (!registrant && registry.settings.dataModel === "thick") throw new Refusal(2003, "a registrant is required");
  const now = registry.now();
  const domain: Domain = {
    name,
    roid: nextRoid(registry, "D"),
    registrant: registrant && requireContact(registry, tokenOf(registrant)),
    contacts: contactsOf(registry, element),
    delegation,
    security,
    statuses: [],
    clID: registrar,
    crID: registrar,
    crDate: now.toISOString(),
    exDate: addMonths(now, months).toISOString(),
    authInfo,
  };
  return { ...domain, graces: withGrace(registry, domain, "addPeriod", 0) };
}

/**
 * The fee that the client agreed to pay, or a refusal by the name's label. A client with the fee extension must offer the fee of
 * a premium name (2003); other clients cannot register it.
 */
function feeFor(context: CommandContext, name: string): Markup[] | undefined {
  const { session, element, effect } = context;
  const { refusalCode, checkReason, isPremium } = effect;
  const fee = agreedFee(context, name, "create", monthsOf(findChild(element, "period")));
  if (isPremium && session.services.has(feeUri)) {
    if (!fee) throw new Refusal(2003, "a premium name needs its fee");
  } else if (refusalCode !== undefined) throw new Refusal(refusalCode, checkReason ?? askedByLabel);
  return fee;
}

function scheduledAction({ registry, effect, clTRID, svTRID }: CommandContext): ScheduledAction | undefined {
  if (!effect.scheduled) return undefined;
  const { pendingDelayMs, undoDelayMs } = registry.settings;
  const delayMs = effect.scheduled === "undo" ? undoDelayMs : pendingDelayMs;
  const dueAt = new Date(registry.now().getTime() + delayMs).toISOString();
  return { action: effect.scheduled, dueAt, clTRID, svTRID };
}
