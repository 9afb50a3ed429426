import type { Secret } from "#lib/secret.ts";
import type { EppCommand } from "../command.ts";
import { objectCommandFrame } from "../command.ts";
import { contactNamespace } from "../namespaces.ts";
import { elementsOf, getChild, getText, optionalOf } from "../xml.ts";
import { findDate } from "../xml-values.ts";
import type { PostalInfo } from "./postal-info.ts";
import { postalInfoElement } from "./postal-info.ts";

export interface ContactCreateRequest {
  /** 3 to 16 characters, chosen by us. */
  readonly id: string;
  readonly postalInfo: PostalInfo;
  /** As "+49.30123456" (RFC 5733 §2.5). */
  readonly voice?: string;
  readonly fax?: string;
  readonly email: string;
  readonly authInfo: Secret;
}

export interface ContactCreated {
  readonly id: string;
  readonly crDate: Date | undefined;
}

const contact = elementsOf(contactNamespace);
const optional = optionalOf(contact);

/** RFC 5733 §3.2.1. */
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
    frame: (clTRID) => objectCommandFrame(element, clTRID),
    parse: (resData, { code }) => {
      if (!resData && code === 1001) return undefined;
      const creData = getChild(resData, contactNamespace, "creData");
      return {
        id: getText(creData, contactNamespace, "id"),
        crDate: findDate(creData, contactNamespace, "crDate"),
      };
    },
  };
}
