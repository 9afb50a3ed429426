import type { EppCommand } from "#registry/epp/command.ts";
import { commandFrame } from "#registry/epp/command.ts";
import { eppNamespace } from "#registry/epp/namespaces.ts";
import { elementsOf } from "#registry/epp/xml/xml.ts";

/** RFC 5730 §2.9.1.2: answered with 1500, and the server closes. */
export function logout(): EppCommand<undefined> {
  return {
    name: "logout",
    kind: "session",
    frame: (clTRID) => commandFrame(elementsOf(eppNamespace)("logout", []), clTRID),
    parse: () => undefined,
  };
}
