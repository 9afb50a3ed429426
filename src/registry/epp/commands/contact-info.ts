import type { EppCommand } from "../command.ts";
import { objectCommandFrame } from "../command.ts";
import { contactNamespace } from "../namespaces.ts";
import { elementsOf, findChildren, findText, getAttribute, getChild, getText } from "../xml.ts";
import { parseXmlDate } from "../xml-values.ts";

/** What tells whether a contact is ours; its postal data is ours to know, not the registry's. */
export interface ContactInfo {
  readonly id: string;
  readonly roid: string | undefined;
  readonly statuses: readonly string[];
  readonly email: string | undefined;
  /** The sponsoring registrar. */
  readonly clID: string;
  readonly crID: string | undefined;
  readonly crDate: Date | undefined;
}

const contact = elementsOf(contactNamespace);

/** RFC 5733 §3.1.2. */
export function contactInfo(id: string): EppCommand<ContactInfo> {
  return {
    name: "contact:info",
    kind: "query",
    frame: (clTRID) => objectCommandFrame(contact("info", [contact("id", [id])]), clTRID),
    parse: (resData) => {
      const infData = getChild(resData, contactNamespace, "infData");
      const crDate = findText(infData, contactNamespace, "crDate");
      return {
        id: getText(infData, contactNamespace, "id"),
        roid: findText(infData, contactNamespace, "roid"),
        statuses: findChildren(infData, contactNamespace, "status").map((status) => getAttribute(status, "s")),
        email: findText(infData, contactNamespace, "email"),
        clID: getText(infData, contactNamespace, "clID"),
        crID: findText(infData, contactNamespace, "crID"),
        crDate: crDate === undefined ? undefined : parseXmlDate(crDate),
      };
    },
  };
}
