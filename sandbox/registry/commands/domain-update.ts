import { authCodeUri, rgpUri, secDnsUri } from "../namespaces.ts";
import type { Domain, DomainContact } from "../objects.ts";
import type { CommandHandler, Registry } from "../registry.ts";
import { Refusal } from "../result-codes.ts";
import { childrenOf, findChild, tokenOf, type XmlElement } from "../xml.ts";
import { delegationOf, joinDelegations, serverNamesOf } from "./delegation.ts";
import { updateDnsSecurity } from "./dns-security.ts";
import {
  changedStatuses,
  clientStatusesOf,
  contactsOf,
  findAuthInfo,
  newAuthInfo,
  requireContact,
  requireOneRole,
  requireOwnDomain,
  requireStatusAllows,
} from "./domain-data.ts";
import { restoreDomain } from "./domain-restore.ts";
import { agreedFee } from "./fees.ts";

/** RFC 5731 §3.2.5, with RFC 5910 §5.2.5: rem, then add, then chg, all or nothing; or a restore (RFC 3915 §4.2.5). */
export const updateDomain: CommandHandler = (context) => {
  const { registry, registrar, element, extensions } = context;
  const domain = requireOwnDomain(registry, registrar, element);
  const rgpUpdate = extensions.find(({ uri }) => uri === rgpUri);
  if (rgpUpdate) return restoreDomain(context, domain, rgpUpdate);
  const rem = findChild(element, "rem");
  const add = findChild(element, "add");
  const chg = findChild(element, "chg");
  const secDns = extensions.find(({ uri }) => uri === secDnsUri);
  const sendsCode = extensions.some(({ uri }) => uri === authCodeUri);
  if (!rem && !add && !chg && !secDns && !sendsCode) throw new Refusal(2003, "add, rem or chg is required");
  const removesLock = rem !== undefined && clientStatusesOf(rem).includes("clientUpdateProhibited");
  // clientUpdateProhibited allows only the update that removes it (RFC 5731 §2.3).
  if (
    !removesLock ||
    domain.statuses.some((status) => status !== "clientUpdateProhibited" && /pending|^serverUpdate/.test(status))
  ) {
    requireStatusAllows(domain, "Update");
  }
  let updated: Domain = { ...domain, statuses: changedStatuses(domain.statuses, rem, add) };
  if (rem) updated = removeFrom(updated, rem);
  if (add) updated = addTo(registry, updated, add);
  if (chg) updated = change(registry, updated, chg);
  if (secDns) updated = { ...updated, security: updateDnsSecurity(updated.security, secDns) };
  if (sendsCode) updated = { ...updated, authInfo: newAuthInfo(registry, element) };
  requireOneRole(registry, updated);
  const extension = agreedFee(context, domain.name, "update", 0);
  registry.store.domains.put({ ...updated, upID: registrar, upDate: registry.now().toISOString() });
  return { code: 1000, extension };
};

function isSameContact(left: DomainContact, right: DomainContact): boolean {
  return left.type === right.type && left.id === right.id;
}

function contactNames(element: XmlElement): DomainContact[] {
  return childrenOf(element, "contact").map((contact) => ({
    type: contact.attributes.type ?? "",
    id: tokenOf(contact),
  }));
}

function removeFrom(domain: Domain, rem: XmlElement): Domain {
  const contacts = contactNames(rem);
  const ns = findChild(rem, "ns");
  const servers = ns ? serverNamesOf(ns) : [];
  const current = domain.delegation?.servers ?? [];
  const missing =
    contacts.find((contact) => !domain.contacts.some((other) => isSameContact(contact, other)))?.id ??
    servers.find((name) => !current.some((server) => server.name === name));
  if (missing !== undefined) throw new Refusal(2306, `${missing} is not set, so it can't be removed`);
  const left = current.filter((server) => !servers.includes(server.name));
  return {
    ...domain,
    contacts: domain.contacts.filter((contact) => !contacts.some((other) => isSameContact(contact, other))),
    delegation: domain.delegation && left.length > 0 ? { ...domain.delegation, servers: left } : undefined,
  };
}

function addTo(registry: Registry, domain: Domain, add: XmlElement): Domain {
  const ns = findChild(add, "ns");
  const contacts = contactsOf(registry, add);
  const double = contacts.find(
    (contact, index) =>
      domain.contacts.some((other) => isSameContact(contact, other)) ||
      contacts.slice(0, index).some((other) => isSameContact(contact, other)),
  );
  if (double) throw new Refusal(2306, `${double.id} is the ${double.type} contact already`);
  return {
    ...domain,
    contacts: [...domain.contacts, ...contacts],
    delegation: ns ? joinDelegations(domain.delegation, delegationOf(registry, ns, domain.name)) : domain.delegation,
  };
}

function change(registry: Registry, domain: Domain, chg: XmlElement): Domain {
  const registrant = findChild(chg, "registrant");
  if (registrant && tokenOf(registrant) === "") throw new Refusal(2306, "a registrant is required");
  const authInfo = findChild(chg, "authInfo");
  if (authInfo && registry.settings.authInfo !== "registrar")
    throw new Refusal(2306, "the registry draws the authInfo");
  return {
    ...domain,
    registrant: registrant ? requireContact(registry, tokenOf(registrant)) : domain.registrant,
    // <null/> removes the authInfo (RFC 5731 §3.2.5).
    authInfo: authInfo ? (findAuthInfo(chg) ?? "") : domain.authInfo,
  };
}
