import type { Secret } from "#lib/secret.ts";
import type { EppCommand } from "../command.ts";
import { objectCommandFrame } from "../command.ts";
import { domainNamespace } from "../namespaces.ts";
import type { XmlElement } from "../xml.ts";
import { elementsOf, findText, getChild, getText } from "../xml.ts";
import { parseXmlDate } from "../xml-values.ts";

export interface DomainCreateRequest {
  /** An A-label name. */
  readonly name: string;
  /** 1 to 99; the registry's policy allows fewer. */
  readonly periodYears: number;
  readonly registrant?: string;
  readonly contacts: readonly { readonly type: "admin" | "billing" | "tech"; readonly id: string }[];
  /** Names of host objects that exist at the registry. */
  readonly nameServers?: readonly string[];
  readonly authInfo: Secret;
}

export interface DomainCreated {
  readonly name: string;
  readonly crDate: Date;
  readonly exDate: Date | undefined;
}

const domain = elementsOf(domainNamespace);

/** RFC 5731 §3.2.1. A pending create (1001) may come without data. */
export function domainCreate(request: DomainCreateRequest): EppCommand<DomainCreated> {
  return {
    name: "domain:create",
    kind: "transform",
    frame: (clTRID) => objectCommandFrame(createElement(request), clTRID),
    parse: (resData, { code }) => {
      if (!resData && code === 1001) return undefined;
      const creData = getChild(resData, domainNamespace, "creData");
      const exDate = findText(creData, domainNamespace, "exDate");
      return {
        name: getText(creData, domainNamespace, "name"),
        crDate: parseXmlDate(getText(creData, domainNamespace, "crDate")),
        exDate: exDate === undefined ? undefined : parseXmlDate(exDate),
      };
    },
  };
}

function createElement(request: DomainCreateRequest): XmlElement {
  const nameServers = (request.nameServers ?? []).map((host) => domain("hostObj", [host]));
  return domain("create", [
    domain("name", [request.name]),
    domain("period", [String(request.periodYears)], { unit: "y" }),
    nameServers.length > 0 ? domain("ns", nameServers) : undefined,
    request.registrant === undefined ? undefined : domain("registrant", [request.registrant]),
    ...request.contacts.map(({ type, id }) => domain("contact", [id], { type })),
    domain("authInfo", [domain("pw", [request.authInfo])]),
  ]);
}
