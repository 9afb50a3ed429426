import type { EppCommand } from "#registry/epp/command.ts";
import { objectCommandFrame } from "#registry/epp/command.ts";
import type { ObjectAvailability } from "#registry/epp/commands/object-check.ts";
import { parseObjectCheck } from "#registry/epp/commands/object-check.ts";
import { contactNamespace } from "#registry/epp/namespaces.ts";
import { elementsOf } from "#registry/epp/xml/xml.ts";

const contact = elementsOf(contactNamespace);

/** RFC 5733 §3.1.1: whether a contact with this id can be created. */
export function contactCheck(id: string): EppCommand<ObjectAvailability> {
  return {
    name: "contact:check",
    kind: "query",
    frame: (clTRID) => objectCommandFrame(contact("check", [contact("id", [id])]), clTRID),
    parse: (resData) => parseObjectCheck(resData, contactNamespace, "id", id),
  };
}
