import type { EppCommand } from "#registry/epp/command.ts";
import { objectCommandFrame } from "#registry/epp/command.ts";
import { domainNamespace } from "#registry/epp/namespaces.ts";
import { elementsOf } from "#registry/epp/xml/xml.ts";

const domain = elementsOf(domainNamespace);

/** RFC 5731 §3.2.2: 1000 when the name is deleted, 1001 when the deletion is pending. @param name an A-label name */
export function domainDelete(name: string): EppCommand<undefined> {
  return {
    name: "domain:delete",
    kind: "transform",
    frame: (clTRID) => objectCommandFrame(domain("delete", [domain("name", [name])]), clTRID),
    parse: () => undefined,
  };
}
