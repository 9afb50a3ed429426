import type { Secret } from "#lib/secret.ts";
import type { EppCommand } from "../command.ts";
import { objectCommandFrame } from "../command.ts";
import { contactNamespace } from "../namespaces.ts";
import type { XmlElement } from "../xml.ts";
import { elementsOf, findText, getChild, getText } from "../xml.ts";
import { parseXmlDate } from "../xml-values.ts";

export interface PostalInfo {
  /** "int" is ASCII only (RFC 5733 §2.4), "loc" any language. */
  readonly type: "int" | "loc";
  readonly name: string;
  readonly org?: string;
  /** At most three lines. */
  readonly street: readonly string[];
  readonly city: string;
  /** State or province. */
  readonly sp?: string;
  /** Postal code. */
  readonly pc?: string;
  /** ISO 3166-1 alpha-2. */
  readonly cc: string;
}

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

/** RFC 5733 §3.2.1. */
export function contactCreate(request: ContactCreateRequest): EppCommand<ContactCreated> {
  return {
    name: "contact:create",
    kind: "transform",
    frame: (clTRID) => objectCommandFrame(createElement(request), clTRID),
    parse: (resData, { code }) => {
      if (!resData && code === 1001) return undefined;
      const creData = getChild(resData, contactNamespace, "creData");
      const crDate = findText(creData, contactNamespace, "crDate");
      return {
        id: getText(creData, contactNamespace, "id"),
        crDate: crDate === undefined ? undefined : parseXmlDate(crDate),
      };
    },
  };
}

function createElement(request: ContactCreateRequest): XmlElement {
  const { postalInfo } = request;
  return contact("create", [
    contact("id", [request.id]),
    contact(
      "postalInfo",
      [
        contact("name", [postalInfo.name]),
        optional("org", postalInfo.org),
        contact("addr", [
          ...postalInfo.street.map((line) => contact("street", [line])),
          contact("city", [postalInfo.city]),
          optional("sp", postalInfo.sp),
          optional("pc", postalInfo.pc),
          contact("cc", [postalInfo.cc]),
        ]),
      ],
      { type: postalInfo.type },
    ),
    optional("voice", request.voice),
    optional("fax", request.fax),
    contact("email", [request.email]),
    contact("authInfo", [contact("pw", [request.authInfo])]),
  ]);
}

function optional(name: string, text: string | undefined): XmlElement | undefined {
  return text === undefined ? undefined : contact(name, [text]);
}
