import { eppNamespace } from "#registry/epp/namespaces.ts";
import type { XmlElement } from "#registry/epp/xml/xml.ts";
import { elementsOf } from "#registry/epp/xml/xml.ts";

const epp = elementsOf(eppNamespace);

/** RFC 5730 §2.3: not a command. It has no clTRID and is answered with a greeting, before and after the login. */
export function helloFrame(): XmlElement {
  return epp("epp", [epp("hello", [])]);
}
