import { domainNamespace } from "#registry/epp/namespaces.ts";
import type { XmlElement } from "#registry/epp/xml/xml.ts";
import { elementsOf, findAttribute, findChildren, textOf } from "#registry/epp/xml/xml.ts";

/** A contact of a domain other than its registrant (RFC 5731 §2.2). */
export interface DomainContact {
  readonly type: "admin" | "billing" | "tech";
  readonly id: string;
}

const domain = elementsOf(domainNamespace);

/** `<domain:contact>` elements. */
export function domainContactElements(contacts: readonly DomainContact[] = []): XmlElement[] {
  return contacts.map(({ type, id }) => domain("contact", [id], { type }));
}

/** The contacts in an info's answer. Registries add types, so a type is any text here. */
export function findDomainContacts(infData: XmlElement): { readonly type: string; readonly id: string }[] {
  return findChildren(infData, domainNamespace, "contact").map((contact) => ({
    type: findAttribute(contact, "type") ?? "",
    id: textOf(contact),
  }));
}
