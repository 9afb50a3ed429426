/** What a registry of EURid's family does by proprietary extensions: types of contacts, codes for transfers, quarantine. */
import { addDays } from "../clock.ts";
import { contactExtUri, domainExtUri, issuedAuthInfoUri } from "../namespaces.ts";
import type { Domain } from "../objects.ts";
import type { CommandContext, Registry } from "../registry.ts";
import { Refusal } from "../result-codes.ts";
import { findChild, type Markup, optionalTag, tag, tokenOf, type XmlElement } from "../xml.ts";
import { roleOfContact } from "./dnsbe.ts";
import { requireLegalForm } from "./sidn.ts";

const contactTypes = new Set(["billing", "onsite", "registrant", "reseller", "tech"]);
/** How long an issued code is valid. */
const codeDays = 40;

/** The type of a new contact: 2003 without one where the registry demands it, 2005 for an unknown one. */
export function contactTypeOf({ settings }: Registry, extensions: readonly XmlElement[]): string | undefined {
  if (settings.extensions.includes("sidn")) requireLegalForm(extensions);
  if (settings.extensions.includes("dnsbe")) return roleOfContact(extensions);
  if (!settings.extensions.includes("contact-ext")) return undefined;
  const extension = extensions.find(({ uri }) => uri === contactExtUri);
  const type = extension && findChild(extension, "type");
  if (!type) throw new Refusal(2003, "a contact needs a type");
  if (!findChild(extension, "lang")) throw new Refusal(2003, "a contact needs a language");
  if (!contactTypes.has(tokenOf(type))) throw new Refusal(2005, "there is no such type of contact");
  return tokenOf(type);
}

/** Refuses a name's contact that has another type with 2306. */
export function requireContactType({ settings, store }: Registry, id: string, role: string): void {
  if (!settings.extensions.some((name) => name === "contact-ext" || name === "dnsbe")) return;
  const type = store.contacts.find(id)?.type;
  if (type !== role) throw new Refusal(2306, `contact ${id} is a ${type} contact, so it can't be a ${role} contact`);
}

/** Issues or withdraws the code of an own name that an info asks for; the name as it is then. */
export function issueAuthInfo({ registry, registrar, extensions }: CommandContext, domain: Domain): Domain {
  const asked = extensions.find(({ uri }) => uri === issuedAuthInfoUri);
  if (!asked) return domain;
  if (domain.clID !== registrar) throw new Refusal(2201, "another registrar sponsors the name");
  const number = registry.store.nextNumber();
  const issued = findChild(asked, "request")
    ? { authInfo: `ISSU-${number}`, authInfoUntil: addDays(registry.now(), codeDays).toISOString() }
    : { authInfo: `registry-${number}`, authInfoUntil: undefined };
  registry.store.domains.put({ ...domain, ...issued });
  return { ...domain, ...issued };
}

export function authInfoTag({ authInfoUntil }: Domain): Markup[] {
  if (authInfoUntil === undefined) return [];
  const until = tag("authInfo:validUntil", {}, authInfoUntil);
  return [tag("authInfo:infData", { "xmlns:authInfo": issuedAuthInfoUri }, until)];
}

/** A name as RFC 5731 shows it where its deletion is shown by an extension. */
export function withoutDeletion(domain: Domain): Domain {
  return { ...domain, statuses: domain.statuses.filter((status) => status !== "pendingDelete") };
}

/** The states of a name that this family shows in addition to the statuses of RFC 5731: a deleted name is in quarantine. */
export function domainExtTag({ statuses, deletion }: Domain): Markup {
  const is = (status: string) => String(statuses.includes(status));
  return tag(
    "domain-ext:infData",
    { "xmlns:domain-ext": domainExtUri },
    tag("domain-ext:onHold", {}, is("serverTransferProhibited")),
    tag("domain-ext:quarantined", {}, String(deletion !== undefined)),
    tag("domain-ext:suspended", {}, is("serverHold")),
    tag("domain-ext:seized", {}, "false"),
    optionalTag("domain-ext:availableDate", deletion?.until),
    tag("domain-ext:delayed", {}, "false"),
    tag("domain-ext:maxExtensionPeriod", {}, "9"),
    tag("domain-ext:registrantCountry", {}, "BE"),
  );
}
