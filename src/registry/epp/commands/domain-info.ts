import { Secret } from "#lib/secret.ts";
import type { EppCommand } from "../command.ts";
import { objectCommandFrame } from "../command.ts";
import { domainNamespace } from "../namespaces.ts";
import type { XmlElement } from "../xml.ts";
import { elementsOf, findChild, findChildren, findText, getAttribute, getChild, getText } from "../xml.ts";
import { parseXmlDate } from "../xml-values.ts";

export interface DomainInfo {
  readonly name: string;
  readonly roid: string | undefined;
  /** E.g. "ok", "pendingCreate". */
  readonly statuses: readonly string[];
  readonly registrant: string | undefined;
  /** The sponsoring registrar. */
  readonly clID: string;
  readonly crID: string | undefined;
  readonly crDate: Date | undefined;
  readonly exDate: Date | undefined;
  readonly upDate: Date | undefined;
  /** Most registries show it to the sponsor only, some to nobody. */
  readonly authInfo: Secret | undefined;
}

const domain = elementsOf(domainNamespace);

/** RFC 5731 §3.1.2. @param name an A-label name */
export function domainInfo(name: string): EppCommand<DomainInfo> {
  return {
    name: "domain:info",
    kind: "query",
    frame: (clTRID) => objectCommandFrame(domain("info", [domain("name", [name])]), clTRID),
    parse: (resData) => parseInfo(getChild(resData, domainNamespace, "infData")),
  };
}

function parseInfo(infData: XmlElement): DomainInfo {
  const findDate = (element: string): Date | undefined => {
    const text = findText(infData, domainNamespace, element);
    return text === undefined ? undefined : parseXmlDate(text);
  };
  const password = findText(findChild(infData, domainNamespace, "authInfo"), domainNamespace, "pw");
  return {
    name: getText(infData, domainNamespace, "name"),
    roid: findText(infData, domainNamespace, "roid"),
    statuses: findChildren(infData, domainNamespace, "status").map((status) => getAttribute(status, "s")),
    registrant: findText(infData, domainNamespace, "registrant"),
    clID: getText(infData, domainNamespace, "clID"),
    crID: findText(infData, domainNamespace, "crID"),
    crDate: findDate("crDate"),
    exDate: findDate("exDate"),
    upDate: findDate("upDate"),
    authInfo: password === undefined ? undefined : new Secret(password),
  };
}
