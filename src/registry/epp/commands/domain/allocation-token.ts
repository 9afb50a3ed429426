import type { Secret } from "#lib/secret.ts";
import { allocationTokenNamespace } from "#registry/epp/namespaces.ts";
import { elementsOf, type XmlElement } from "#registry/epp/xml/xml.ts";

const allocation = elementsOf(allocationTokenNamespace);

/** RFC 8495 §3.1.1 and §3.2.1: the token that a name is allocated with; only on a session that has the extension. */
export function allocationTokenElement(token: Secret | undefined): XmlElement | undefined {
  return token && allocation("allocationToken", [token]);
}
