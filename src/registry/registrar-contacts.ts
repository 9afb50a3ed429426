/** Contacts of the registrar account that a registry demands at every name: the profile has their ids. */
import Type from "typebox";
import type { EppCommand } from "#registry/epp/command.ts";
import type { Dialect } from "#registry/epp/dialect.ts";
import { domainNamespace, eppNamespace } from "#registry/epp/namespaces.ts";
import { elementsOf, getChild, isElement, type XmlElement } from "#registry/epp/xml/xml.ts";

/** By type, the id at the registry (RFC 5730 §4: 3 to 16 characters). */
export const registrarContactsSchema = Type.Record(
  Type.String({ pattern: "^(admin|tech|billing)$" }),
  Type.String({ minLength: 3, maxLength: 16 }),
  { additionalProperties: false },
);

export type RegistrarContacts = Readonly<Record<string, string>>;

/** What is wrong with the profile's field, as a sentence that begins with its name. */
export function registrarContactsFault(
  contacts: RegistrarContacts = {},
  contactTypes: readonly string[] = ["admin", "tech"],
): string | undefined {
  const both = Object.keys(contacts).find((type) => contactTypes.includes(type));
  return both === undefined ? undefined : `registrarContacts has ${both}, which contactTypes has too`;
}

const domain = elementsOf(domainNamespace);

/** Adds the contacts to each create of a name. */
export function registrarContactsDialect(contacts: RegistrarContacts): Dialect {
  const elements = Object.entries(contacts).map(([type, id]) => domain("contact", [id], { type }));
  return {
    adapt: (command) =>
      elements.length > 0 && command.name === "domain:create" ? withContacts(command, elements) : command,
  };
}

function withContacts<Data>(command: EppCommand<Data>, contacts: readonly XmlElement[]): EppCommand<Data> {
  return {
    ...command,
    frame(clTRID) {
      const frame = command.frame(clTRID);
      const epp = getChild(frame, eppNamespace, "command");
      const verb = getChild(epp, eppNamespace, "create");
      const create = getChild(verb, domainNamespace, "create");
      // RFC 5731 §4: contacts precede the authInfo, which ends the element.
      const parts = create.children.filter(isElement);
      const created = { ...create, children: [...parts.slice(0, -1), ...contacts, ...parts.slice(-1)] };
      const verbs = epp.children.map((child) => (child === verb ? { ...verb, children: [created] } : child));
      return { ...frame, children: [{ ...epp, children: verbs }] };
    },
  };
}
