import type { EppCommand } from "#registry/epp/command.ts";
import { objectCommandFrame } from "#registry/epp/command.ts";
import { contactNamespace } from "#registry/epp/namespaces.ts";
import { elementsOf } from "#registry/epp/xml/xml.ts";

const contact = elementsOf(contactNamespace);

/** RFC 5733 §3.2.2: 2305 while a domain names it. */
export function contactDelete(id: string): EppCommand<undefined> {
  return {
    name: "contact:delete",
    kind: "transform",
    frame: (clTRID) => objectCommandFrame(contact("delete", [contact("id", [id])]), clTRID),
    parse: () => undefined,
  };
}
