import type { Secret } from "#lib/secret.ts";
import type { ContactFacts, EppCommand } from "#registry/epp/command.ts";
import { objectCommandFrame } from "#registry/epp/command.ts";
import type { PostalInfo } from "#registry/epp/commands/contact/postal-info.ts";
import { postalInfoElement } from "#registry/epp/commands/contact/postal-info.ts";
import { contactNamespace } from "#registry/epp/namespaces.ts";
import { findDate } from "#registry/epp/xml/values.ts";
import type { XmlElement } from "#registry/epp/xml/xml.ts";
import { elementsOf, findChild, getText, optionalOf, tolerate } from "#registry/epp/xml/xml.ts";

export interface ContactCreateRequest {
  /** 3 to 16 characters, chosen by us. */
  readonly id: string;
  readonly postalInfo: PostalInfo<string | Secret>;
  /** E.g. "+49.30123456" (RFC 5733 §2.5). */
  readonly voice?: string | Secret;
  readonly fax?: string | Secret;
  readonly email: string | Secret;
  readonly authInfo: Secret;
  /** What only this registry knows of contacts. */
  readonly extensions?: readonly XmlElement[];
  readonly facts?: ContactFacts;
}

export interface ContactCreated {
  readonly id: string;
  readonly crDate: Date | undefined;
}

const contact = elementsOf(contactNamespace);
const optional = optionalOf(contact);

/** RFC 5733 §3.2.1. If the answer's data cannot be read there is none; the contact is still created or pending. */
export function contactCreate(request: ContactCreateRequest): EppCommand<ContactCreated> {
  const element = contact("create", [
    contact("id", [request.id]),
    postalInfoElement(request.postalInfo),
    optional("voice", request.voice),
    optional("fax", request.fax),
    contact("email", [request.email]),
    contact("authInfo", [contact("pw", [request.authInfo])]),
  ]);
  return {
    name: "contact:create",
    kind: "transform",
    facts: { contact: request.facts },
    frame: (clTRID) => objectCommandFrame(element, clTRID, request.extensions),
    parse: (resData) => {
      const creData = findChild(resData, contactNamespace, "creData");
      return tolerate(() => ({
        id: getText(creData, contactNamespace, "id"),
        crDate: findDate(creData, contactNamespace, "crDate"),
      }));
    },
  };
}
