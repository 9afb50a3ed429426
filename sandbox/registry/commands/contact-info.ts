import { contactUri } from "../namespaces.ts";
import type { Contact, Disclosure, PhoneNumber, PostalInfo } from "../objects.ts";
import type { CommandHandler } from "../registry.ts";
import { Refusal } from "../result-codes.ts";
import { type Content, childToken, optionalTag, tag } from "../xml.ts";
import { isLinked } from "./contact-data.ts";
import { findAuthInfo, requireRightAuthInfo } from "./domain-data.ts";
import { taxNumberTags } from "./tax-number.ts";

/** RFC 5733 §3.1.2. Only the sponsor, or a client with the authInfo, sees personal data: otherwise 2201. */
export const infoContact: CommandHandler = ({ registry, session, registrar, element }) => {
  const contact = registry.store.contacts.find(childToken(element, "id"));
  if (!contact) throw new Refusal(2303, "there is no such contact");
  const presented = findAuthInfo(element);
  requireRightAuthInfo(presented, contact);
  if (contact.clID !== registrar && presented === undefined) {
    throw new Refusal(2201, "another registrar sponsors the contact");
  }
  return {
    code: 1000,
    resData: infData(contact, isLinked(registry, contact.id)),
    extension: taxNumberTags(session, contact.taxNumber),
  };
};

function infData(contact: Contact, linked: boolean) {
  const statuses = [...(contact.statuses.length > 0 ? contact.statuses : ["ok"]), ...(linked ? ["linked"] : [])];
  return tag(
    "contact:infData",
    { "xmlns:contact": contactUri },
    tag("contact:id", {}, contact.id),
    tag("contact:roid", {}, contact.roid),
    statuses.map((status) => tag("contact:status", { s: status })),
    contact.postalInfo.map(postalInfoTag),
    phoneTag("contact:voice", contact.voice),
    phoneTag("contact:fax", contact.fax),
    tag("contact:email", {}, contact.email),
    tag("contact:clID", {}, contact.clID),
    tag("contact:crID", {}, contact.crID),
    tag("contact:crDate", {}, contact.crDate),
    optionalTag("contact:upID", contact.upID),
    optionalTag("contact:upDate", contact.upDate),
    tag("contact:authInfo", {}, tag("contact:pw", {}, contact.authInfo)),
    contact.disclose ? discloseTag(contact.disclose) : [],
  );
}

function postalInfoTag(info: PostalInfo): Content {
  return tag(
    "contact:postalInfo",
    { type: info.type },
    tag("contact:name", {}, info.name),
    optionalTag("contact:org", info.org),
    tag(
      "contact:addr",
      {},
      info.street.map((line) => tag("contact:street", {}, line)),
      tag("contact:city", {}, info.city),
      optionalTag("contact:sp", info.sp),
      optionalTag("contact:pc", info.pc),
      tag("contact:cc", {}, info.cc),
    ),
  );
}

function phoneTag(name: string, phone: PhoneNumber | undefined): Content {
  return phone ? tag(name, { x: phone.extension }, phone.number) : [];
}

function discloseTag({ flag, fields }: Disclosure): Content {
  return tag(
    "contact:disclose",
    { flag },
    fields.map((field) => tag(`contact:${field.name}`, { type: field.type })),
  );
}
