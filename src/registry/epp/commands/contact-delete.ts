import type { EppCommand } from "../command.ts";
import { objectCommandFrame } from "../command.ts";
import { contactNamespace } from "../namespaces.ts";
import { elementsOf } from "../xml.ts";

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
