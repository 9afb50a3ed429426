import type { EppCommand } from "../command.ts";
import { objectCommandFrame } from "../command.ts";
import { hostNamespace } from "../namespaces.ts";
import { elementsOf } from "../xml.ts";

const host = elementsOf(hostNamespace);

/** RFC 5732 §3.2.2: 2305 while a domain delegates to it. @param name an A-label name */
export function hostDelete(name: string): EppCommand<undefined> {
  return {
    name: "host:delete",
    kind: "transform",
    frame: (clTRID) => objectCommandFrame(host("delete", [host("name", [name])]), clTRID),
    parse: () => undefined,
  };
}
