import type { EppCommand } from "#registry/epp/command.ts";
import { objectCommandFrame } from "#registry/epp/command.ts";
import { hostNamespace } from "#registry/epp/namespaces.ts";
import { elementsOf } from "#registry/epp/xml/xml.ts";

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
