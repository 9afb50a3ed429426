/** What checks of domains, hosts and contacts have in common (§3.1.1 of RFC 5731, 5732 and 5733). */

import { parseXmlBoolean } from "#registry/epp/xml/values.ts";
import type { XmlElement } from "#registry/epp/xml/xml.ts";
import { findChildren, findText, getAttribute, getChild, textOf, XmlError } from "#registry/epp/xml/xml.ts";

export interface ObjectAvailability {
  /** Whether an object with this id can be created. */
  readonly available: boolean;
  /** The registry's reason, if not. */
  readonly reason: string | undefined;
}

/** @param idElement "id" or "name" @throws XmlError when the answer is about another object */
export function parseObjectCheck(
  resData: XmlElement | undefined,
  namespace: string,
  idElement: "id" | "name",
  id: string,
): ObjectAvailability {
  for (const answer of findChildren(getChild(resData, namespace, "chkData"), namespace, "cd")) {
    const answered = getChild(answer, namespace, idElement);
    if (textOf(answered).toLowerCase() !== id.toLowerCase()) continue;
    return {
      available: parseXmlBoolean(getAttribute(answered, "avail")),
      reason: findText(answer, namespace, "reason"),
    };
  }
  throw new XmlError("the check's answer is not about what was asked");
}
