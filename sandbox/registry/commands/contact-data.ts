import { contactUri } from "../namespaces.ts";
import type { Contact, Disclosure, PhoneNumber, PostalInfo } from "../objects.ts";
import type { Registry } from "../registry.ts";
import { Refusal } from "../result-codes.ts";
import { childrenOf, childToken, findChild, findChildText, tokenOf, type XmlElement } from "../xml.ts";
import { requireNothingPending } from "./domain-data.ts";

/** The contact of a transform. Refuses with 2303 if it does not exist, 2201 if another registrar sponsors it. */
export function requireOwnContact(registry: Registry, registrar: string, element: XmlElement): Contact {
  const contact = registry.store.contacts.find(childToken(element, "id"));
  if (!contact) throw new Refusal(2303, "there is no such contact");
  if (contact.clID !== registrar) throw new Refusal(2201, "another registrar sponsors the contact");
  requireNothingPending(contact);
  return contact;
}

/** Whether a domain uses the contact. */
export function isLinked(registry: Registry, id: string): boolean {
  return registry.store.domains
    .values()
    .some((domain) => domain.registrant === id || domain.contacts.some((contact) => contact.id === id));
}

/** `<contact:postalInfo>` of create; refuses two of the same type with 2005. */
export function postalInfosOf(element: XmlElement): PostalInfo[] {
  const infos = childrenOf(element, "postalInfo").map(postalInfoOf);
  if (new Set(infos.map((info) => info.type)).size < infos.length)
    throw new Refusal(2005, "two postalInfo of one type");
  return infos;
}

function postalInfoOf(element: XmlElement): PostalInfo {
  return {
    type: element.attributes.type ?? "",
    name: findChildText(element, "name") ?? "",
    org: findChildText(element, "org"),
    ...addressOf(findChild(element, "addr")!),
  };
}

/** `<contact:addr>`. The schema requires two characters for a country, ISO 3166 two capitals: 2005. */
export function addressOf(element: XmlElement): Pick<PostalInfo, "street" | "city" | "sp" | "pc" | "cc"> {
  const cc = childToken(element, "cc");
  if (!/^[A-Z]{2}$/.test(cc)) throw new Refusal(2005, "cc is two capitals");
  return {
    street: childrenOf(element, "street").map((line) => line.text.replace(/[\t\r\n]/g, " ")),
    city: findChildText(element, "city") ?? "",
    sp: findChildText(element, "sp"),
    pc: findChildText(element, "pc")?.trim(),
    cc,
  };
}

/** `<contact:voice>` or `<contact:fax>`; undefined if empty. */
export function findPhone(element: XmlElement, local: "voice" | "fax"): PhoneNumber | undefined {
  const phone = findChild(element, local);
  return phone && tokenOf(phone) !== "" ? { number: tokenOf(phone), extension: phone.attributes.x } : undefined;
}

/** `<contact:email>`: text on both sides of one @, otherwise 2005. */
export function emailOf(element: XmlElement): string {
  const email = childToken(element, "email");
  if (!/^[^\s@]+@[^\s@]+$/.test(email)) throw new Refusal(2005, "not an email address");
  return email;
}

export function findDisclosure(element: XmlElement): Disclosure | undefined {
  const disclose = findChild(element, "disclose");
  return (
    disclose && {
      flag: disclose.attributes.flag ?? "",
      fields: disclose.children
        .filter((field) => field.uri === contactUri)
        .map((field) => ({ name: field.local, type: field.attributes.type })),
    }
  );
}
