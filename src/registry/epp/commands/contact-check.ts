import type { EppCommand } from "../command.ts";
import { objectCommandFrame } from "../command.ts";
import { contactNamespace } from "../namespaces.ts";
import { elementsOf } from "../xml.ts";
import type { ObjectAvailability } from "./object-check.ts";
import { parseObjectCheck } from "./object-check.ts";

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
