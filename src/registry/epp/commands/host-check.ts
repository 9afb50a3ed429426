import type { EppCommand } from "../command.ts";
import { objectCommandFrame } from "../command.ts";
import { hostNamespace } from "../namespaces.ts";
import { elementsOf } from "../xml.ts";
import type { ObjectAvailability } from "./object-check.ts";
import { parseObjectCheck } from "./object-check.ts";

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
