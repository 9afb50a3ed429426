import type { Secret } from "#lib/secret.ts";
import { contactNamespace } from "#registry/epp/namespaces.ts";
import type { XmlElement } from "#registry/epp/xml/xml.ts";
import {
  elementsOf,
  findAttribute,
  findChild,
  findChildren,
  findText,
  optionalOf,
  textOf,
} from "#registry/epp/xml/xml.ts";

/** RFC 5733 §2.4. @typeParam Text in a command, what must not appear in traces may be secret */
export interface PostalInfo<Text extends string | Secret = string> {
  /** "int" is ASCII only, "loc" any language. */
  readonly type: "int" | "loc";
  readonly name: Text;
  readonly org?: Text;
  /** At most three lines. */
  readonly street: readonly Text[];
  readonly city: Text;
  /** State or province. */
  readonly sp?: Text;
  /** Postal code. */
  readonly pc?: Text;
  /** ISO 3166-1 alpha-2. */
  readonly cc: string;
}

const contact = elementsOf(contactNamespace);
const optional = optionalOf(contact);

/** `<contact:postalInfo>`, in a create and in an update. */
export function postalInfoElement(info: PostalInfo<string | Secret>): XmlElement {
  const { type, name, org, street, city, sp, pc, cc } = info;
  return contact(
    "postalInfo",
    [
      contact("name", [name]),
      optional("org", org),
      contact("addr", [
        ...street.map((line) => contact("street", [line])),
        contact("city", [city]),
        optional("sp", sp),
        optional("pc", pc),
        contact("cc", [cc]),
      ]),
    ],
    { type },
  );
}

/** The addresses in an info's answer. Registries hide fields from clients other than the sponsor; those are "". */
export function findPostalInfos(infData: XmlElement): PostalInfo[] {
  return findChildren(infData, contactNamespace, "postalInfo").map((info) => {
    const address = findChild(info, contactNamespace, "addr");
    const org = findText(info, contactNamespace, "org");
    const sp = findText(address, contactNamespace, "sp");
    const pc = findText(address, contactNamespace, "pc");
    return {
      type: findAttribute(info, "type") === "loc" ? "loc" : "int",
      name: findText(info, contactNamespace, "name") ?? "",
      ...(org !== undefined && { org }),
      street: address ? findChildren(address, contactNamespace, "street").map(textOf) : [],
      city: findText(address, contactNamespace, "city") ?? "",
      ...(sp !== undefined && { sp }),
      ...(pc !== undefined && { pc }),
      cc: findText(address, contactNamespace, "cc") ?? "",
    };
  });
}
