/** The object that a message shows or names, and the names of data that nothing here reads. */

import type { DomainInfo } from "#registry/epp/commands/domain/info.ts";
import { parseDomainInfo } from "#registry/epp/commands/domain/info.ts";
import { contactNamespace, domainNamespace, hostNamespace, rgpPollNamespace } from "#registry/epp/namespaces.ts";
import type { ResponseFrame } from "#registry/epp/response.ts";
import type { XmlElement } from "#registry/epp/xml/xml.ts";
import { findAttribute, findChild, findText, isElement, tolerate } from "#registry/epp/xml/xml.ts";

export interface ToldObject {
  readonly object: "domain" | "contact" | "host";
  /** A domain's or host's name, a contact's id. */
  readonly id: string;
  /** Of a domain, where the message shows it. */
  readonly shown: DomainInfo | undefined;
  /** What the message says that happens to a domain after its deletion (RFC 3915 §2): "pendingRestore" … */
  readonly rgpStatus: string | undefined;
}

const objects = [
  { object: "domain", namespace: domainNamespace, idElement: "name" },
  { object: "contact", namespace: contactNamespace, idElement: "id" },
  { object: "host", namespace: hostNamespace, idElement: "name" },
] as const;

/** Data about an object of RFC 5731 to 5733, whatever its kind (infData, creData, renData …); undefined when there is none. */
export function findToldObject({ resData, extension }: Pick<ResponseFrame, "resData" | "extension">) {
  return findRgpNotice(resData) ?? findObject(resData, extension);
}

function findObject(resData: XmlElement | undefined, extension: XmlElement | undefined): ToldObject | undefined {
  for (const { object, namespace, idElement } of objects) {
    const data = resData?.children.filter(isElement).find((child) => child.namespace === namespace);
    const id = findText(data, namespace, idElement);
    if (!data || id === undefined) continue;
    const isDomain = object === "domain" && data.name === "infData";
    const shown = isDomain ? tolerate(() => parseDomainInfo(data, extension)) : undefined;
    return { object, id, shown, rgpStatus: undefined };
  }
  return undefined;
}

/** A message about a name's restore, of a server that has no extension of RFC 3915 for messages. */
function findRgpNotice(resData: XmlElement | undefined): ToldObject | undefined {
  const data = findChild(resData, rgpPollNamespace, "pollData");
  const id = findText(data, rgpPollNamespace, "name");
  if (id === undefined) return undefined;
  const status = findChild(data, rgpPollNamespace, "rgpStatus");
  return { object: "domain", id, shown: undefined, rgpStatus: status && findAttribute(status, "s") };
}

const nameCharsMax = 100;

/** The names of these data, as "delData (http://…)": what kind of message it is. */
export const dataNamesOf = (data: readonly XmlElement[]): string[] =>
  data.map(({ name, namespace }) => `${name} (${namespace})`.slice(0, nameCharsMax));
