import { rgpNamespace } from "#registry/epp/namespaces.ts";
import type { XmlElement } from "#registry/epp/xml/xml.ts";
import { findChild, findChildren, getAttribute } from "#registry/epp/xml/xml.ts";

/** RFC 3915 §4.1.2, §4.2.5: e.g. "redemptionPeriod"; none where the answer says nothing. @throws XmlError */
export function rgpStatusesOf(extension: XmlElement | undefined, name: "infData" | "upData"): string[] {
  const data = findChild(extension, rgpNamespace, name);
  return data ? findChildren(data, rgpNamespace, "rgpStatus").map((status) => getAttribute(status, "s")) : [];
}
