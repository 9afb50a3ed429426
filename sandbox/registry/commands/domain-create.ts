import { addMonths, addMs } from "../clock.ts";
import { charge } from "../credit.ts";
import { isServed, requireDomainName } from "../domain-name.ts";
import { withGrace } from "../graces.ts";
import { askedFor } from "../labels.ts";
import { domainUri, feeUri, secDnsUri } from "../namespaces.ts";
import { type Domain, decisions } from "../objects.ts";
import type { CommandContext, CommandHandler } from "../registry.ts";
import { Refusal } from "../result-codes.ts";
import { childToken, findChild, type Markup, tag, tokenOf } from "../xml.ts";
import { requireOpenPhase, requireToken } from "./allocation.ts";
import { delegationOf } from "./delegation.ts";
import { createDnsSecurity } from "./dns-security.ts";
import {
  contactsOf,
  findDomain,
  monthsOf,
  monthsPerYear,
  newAuthInfo,
  nextRoid,
  registerForOther,
  requireContact,
  requireOneRole,
} from "./domain-data.ts";
import { agreedFee } from "./fees.ts";
import { scheduledAction } from "./scheduled-action.ts";

/** RFC 5731 §3.2.1, with RFC 5910 §5.2.1 and RFC 8748 §5.2.1. Mistakes of the command come before the effect of a label. */
export const createDomain: CommandHandler = (context) => {
  const { registry, effect } = context;
  const domain = newDomain(context);
  requireToken(context, domain.name);
  requireOpenPhase(context, domain.name);
  const fee = feeFor(context, domain.name);
  if (effect.raced && !findDomain(registry, domain.name)) registerForOther(registry, domain.name);
  if (findDomain(registry, domain.name)) throw new Refusal(2302, "the name is in use");

  const isPending = decisions.some((decision) => decision === effect.scheduled);
  charge(registry, context.registrar, monthsOf(registry, context.element) / monthsPerYear);
  const scheduled = scheduledAction(context);
  const leavesAt = effect.leaves && addMs(registry.now(), registry.settings.pendingDelayMs).toISOString();
  const created: Domain = { ...domain, statuses: isPending ? ["pendingCreate"] : [], scheduled, leavesAt };
  registry.store.domains.put(created);
  return {
    code: isPending ? 1001 : 1000,
    resData: tag(
      "domain:creData",
      { "xmlns:domain": domainUri },
      tag("domain:name", {}, created.name),
      tag("domain:crDate", {}, created.crDate),
      registry.settings.createShowsExDate ? tag("domain:exDate", {}, created.exDate) : [],
    ),
    extension: fee,
  };
};

function newDomain({ registry, registrar, element, extensions }: CommandContext): Domain {
  const name = requireDomainName(childToken(element, "name"));
  if (!isServed(name, registry.suffixes)) throw new Refusal(2306, "this registry does not have the suffix");
  const months = monthsOf(registry, element);
  const ns = findChild(element, "ns");
  const delegation = ns && delegationOf(registry, ns, name);
  if ((delegation?.servers.length ?? 0) < registry.settings.nameServersAtCreateMin) {
    throw new Refusal(2003, `a name needs ${registry.settings.nameServersAtCreateMin} name servers`);
  }
  const authInfo = newAuthInfo(registry, element);
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
  requireOneRole(registry, domain);
  return { ...domain, graces: withGrace(registry, domain, "addPeriod", 0) };
}

/**
 * The fee that the client agreed to pay, or a refusal by the name's label. A client with the fee extension must offer the fee
 * of a premium name (2003), if a check shows it that the name is one; other clients cannot register it.
 */
function feeFor(context: CommandContext, name: string): Markup[] | undefined {
  const { registry, session, element, effect } = context;
  const { refusalCode, checkReason, isPremium } = effect;
  const fee = agreedFee(context, name, "create", monthsOf(registry, element));
  if (isPremium && session.services.has(feeUri)) {
    if (!fee && registry.settings.premiumClass === "premium") throw new Refusal(2003, "a premium name needs its fee");
  } else if (refusalCode !== undefined) throw new Refusal(refusalCode, checkReason ?? askedFor);
  return fee;
}
