import type { EppCommand } from "#registry/epp/command.ts";
import { objectCommandFrame } from "#registry/epp/command.ts";
import type { ObjectAvailability } from "#registry/epp/commands/object-check.ts";
import { parseObjectCheck } from "#registry/epp/commands/object-check.ts";
import { hostNamespace } from "#registry/epp/namespaces.ts";
import { elementsOf } from "#registry/epp/xml/xml.ts";

const host = elementsOf(hostNamespace);

/** RFC 5732 §3.1.1: whether a host with this name can be created. @param name an A-label name */
export function hostCheck(name: string): EppCommand<ObjectAvailability> {
  return {
    name: "host:check",
    kind: "query",
    frame: (clTRID) => objectCommandFrame(host("check", [host("name", [name])]), clTRID),
    parse: (resData) => parseObjectCheck(resData, hostNamespace, "name", name),
  };
}
