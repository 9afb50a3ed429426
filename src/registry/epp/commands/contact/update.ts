import type { Secret } from "#lib/secret.ts";
import type { EppCommand } from "#registry/epp/command.ts";
import { objectCommandFrame } from "#registry/epp/command.ts";
import type { PostalInfo } from "#registry/epp/commands/contact/postal-info.ts";
import { postalInfoElement } from "#registry/epp/commands/contact/postal-info.ts";
import { contactNamespace } from "#registry/epp/namespaces.ts";
import type { XmlElement } from "#registry/epp/xml/xml.ts";
import { elementsOf, optionalOf } from "#registry/epp/xml/xml.ts";

export interface ContactUpdateRequest {
  readonly id: string;
  /** Statuses that a registrar may set: "clientUpdateProhibited" … (RFC 5733 §2.2). */
  readonly addStatuses?: readonly string[];
  readonly removeStatuses?: readonly string[];
  /** Replaces the postal info of the same type. */
  readonly postalInfo?: PostalInfo;
  /** E.g. "+49.30123456"; "" removes it. */
  readonly voice?: string;
  readonly fax?: string;
  readonly email?: string;
  readonly authInfo?: Secret;
}

const contact = elementsOf(contactNamespace);
const optional = optionalOf(contact);

/** RFC 5733 §3.2.5: 1000 when the contact is changed, 1001 when the change is pending. */
export function contactUpdate(request: ContactUpdateRequest): EppCommand<undefined> {
  const element = contact("update", [
    contact("id", [request.id]),
    statusesElement("add", request.addStatuses),
    statusesElement("rem", request.removeStatuses),
    changeElement(request),
  ]);
  return {
    name: "contact:update",
    kind: "transform",
    frame: (clTRID) => objectCommandFrame(element, clTRID),
    parse: () => undefined,
  };
}

function statusesElement(name: "add" | "rem", statuses: readonly string[] = []): XmlElement | undefined {
  if (statuses.length === 0) return undefined;
  return contact(
    name,
    statuses.map((status) => contact("status", [], { s: status })),
  );
}

function changeElement({ postalInfo, voice, fax, email, authInfo }: ContactUpdateRequest): XmlElement | undefined {
  const children = [
    postalInfo && postalInfoElement(postalInfo),
    optional("voice", voice),
    optional("fax", fax),
    optional("email", email),
    authInfo && contact("authInfo", [contact("pw", [authInfo])]),
  ];
  return children.some((child) => child) ? contact("chg", children) : undefined;
}
