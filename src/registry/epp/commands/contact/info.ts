import type { Secret } from "#lib/secret.ts";
import { type ContactField, type ContactFieldValue, readContactFields } from "#registry/contact-fields.ts";
import type { EppCommand } from "#registry/epp/command.ts";
import { objectCommandFrame } from "#registry/epp/command.ts";
import type { PostalInfo } from "#registry/epp/commands/contact/postal-info.ts";
import { findPostalInfos } from "#registry/epp/commands/contact/postal-info.ts";
import { contactNamespace } from "#registry/epp/namespaces.ts";
import { findDate } from "#registry/epp/xml/values.ts";
import {
  elementsOf,
  findChildren,
  findText,
  getAttribute,
  getChild,
  getText,
  tolerate,
} from "#registry/epp/xml/xml.ts";

export interface ContactInfo {
  readonly id: string;
  readonly roid: string | undefined;
  readonly statuses: readonly string[];
  /** At most one of each type; none where the registry hides them. */
  readonly postalInfos: readonly PostalInfo[];
  readonly voice: string | undefined;
  readonly fax: string | undefined;
  readonly email: string | undefined;
  /** The sponsoring registrar; without it nothing says that the object is ours. */
  readonly clID: string | undefined;
  readonly crID: string | undefined;
  readonly crDate: Date | undefined;
  readonly upDate: Date | undefined;
  /** What only this registry knows of contacts, where it shows it. */
  readonly extraFields: readonly ContactFieldValue[];
}

const contact = elementsOf(contactNamespace);

/**
 * RFC 5733 §3.1.2.
 * @param authInfo shows all fields of another registrar's contact @param fields of the registry's profile, to be read too
 */
export function contactInfo(
  id: string,
  authInfo?: Secret,
  fields: readonly ContactField[] = [],
): EppCommand<ContactInfo> {
  const credential = authInfo && contact("authInfo", [contact("pw", [authInfo])]);
  return {
    name: "contact:info",
    kind: "query",
    frame: (clTRID) => objectCommandFrame(contact("info", [contact("id", [id]), credential]), clTRID),
    parse: (resData, { extension }) => {
      const infData = getChild(resData, contactNamespace, "infData");
      const find = (name: string) => findText(infData, contactNamespace, name);
      return {
        id: getText(infData, contactNamespace, "id"),
        roid: find("roid"),
        statuses: findChildren(infData, contactNamespace, "status").map((status) => getAttribute(status, "s")),
        postalInfos: findPostalInfos(infData),
        voice: find("voice"),
        fax: find("fax"),
        email: find("email"),
        clID: findText(infData, contactNamespace, "clID"),
        crID: find("crID"),
        crDate: tolerate(() => findDate(infData, contactNamespace, "crDate")),
        upDate: tolerate(() => findDate(infData, contactNamespace, "upDate")),
        extraFields: readContactFields(fields, extension),
      };
    },
  };
}
