import type { EppCommand } from "../command.ts";
import { commandFrame } from "../command.ts";
import { eppNamespace } from "../namespaces.ts";
import { elementsOf } from "../xml.ts";

/** RFC 5730 §2.9.1.2: answered with 1500, and the server closes. */
export function logout(): EppCommand<undefined> {
  return {
    name: "logout",
    kind: "session",
    frame: (clTRID) => commandFrame(elementsOf(eppNamespace)("logout", []), clTRID),
    parse: () => undefined,
  };
}
