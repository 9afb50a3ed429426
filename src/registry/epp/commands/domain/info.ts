import { Secret } from "#lib/secret.ts";
import type { EppCommand } from "#registry/epp/command.ts";
import { objectCommandFrame } from "#registry/epp/command.ts";
import { findDomainContacts } from "#registry/epp/commands/domain/contacts.ts";
import type { NameServers } from "#registry/epp/commands/domain/name-servers.ts";
import { findNameServers } from "#registry/epp/commands/domain/name-servers.ts";
import { rgpStatusesOf } from "#registry/epp/commands/domain/rgp.ts";
import type { SecDns } from "#registry/epp/commands/domain/sec-dns.ts";
import { findSecDns } from "#registry/epp/commands/domain/sec-dns.ts";
import { domainNamespace } from "#registry/epp/namespaces.ts";
import { findDate } from "#registry/epp/xml/values.ts";
import type { XmlElement } from "#registry/epp/xml/xml.ts";
import {
  elementsOf,
  findChild,
  findChildren,
  findText,
  getAttribute,
  getChild,
  getText,
  textOf,
  tolerate,
} from "#registry/epp/xml/xml.ts";

export interface DomainInfoOptions {
  /** Shows all fields of another registrar's domain. */
  readonly authInfo?: Secret | undefined;
  /** Which hosts are listed: delegated, subordinate, all (the default) or none. */
  readonly hosts?: "all" | "del" | "sub" | "none" | undefined;
  /** Asks a registry that issues auth codes itself for one, or withdraws it (src/registry/flavours/). */
  readonly issuedCode?: "request" | "cancel" | undefined;
}

export interface DomainInfo {
  readonly name: string;
  readonly roid: string | undefined;
  /** E.g. "ok", "pendingCreate". */
  readonly statuses: readonly string[];
  /** Its grace periods (RFC 3915 §3.1), e.g. "addPeriod"; empty when the registry lacks the extension. */
  readonly rgpStatuses: readonly string[];
  readonly registrant: string | undefined;
  readonly contacts: readonly { readonly type: string; readonly id: string }[];
  readonly nameServers: NameServers | undefined;
  /** Names of its subordinate hosts. */
  readonly subordinateHosts: readonly string[];
  /** The sponsoring registrar. RFC 5731 §3.1.2 requires it, and some registries leave it out, for others or for everybody. */
  readonly clID: string | undefined;
  readonly crID: string | undefined;
  readonly crDate: Date | undefined;
  readonly exDate: Date | undefined;
  readonly upDate: Date | undefined;
  readonly trDate: Date | undefined;
  /** Most registries show it only to the sponsor, some to no client. */
  readonly authInfo: Secret | undefined;
  readonly secDns: SecDns | undefined;
}

const domain = elementsOf(domainNamespace);

/** RFC 5731 §3.1.2. @param name an A-label name */
export function domainInfo(
  name: string,
  { authInfo, hosts, issuedCode }: DomainInfoOptions = {},
): EppCommand<DomainInfo> {
  const element = domain("info", [
    domain("name", [name], hosts === undefined ? {} : { hosts }),
    authInfo && domain("authInfo", [domain("pw", [authInfo])]),
  ]);
  return {
    name: "domain:info",
    kind: "query",
    facts: { issuedCode },
    frame: (clTRID) => objectCommandFrame(element, clTRID),
    parse: (resData, { extension }) => parseDomainInfo(getChild(resData, domainNamespace, "infData"), extension),
  };
}

/** Reads `<domain:infData>`, which messages also contain, and the extensions next to it. @throws XmlError */
export function parseDomainInfo(infData: XmlElement, extension: XmlElement | undefined): DomainInfo {
  const password = findText(findChild(infData, domainNamespace, "authInfo"), domainNamespace, "pw");
  return {
    name: getText(infData, domainNamespace, "name"),
    roid: findText(infData, domainNamespace, "roid"),
    statuses: findChildren(infData, domainNamespace, "status").map((status) => getAttribute(status, "s")),
    rgpStatuses: rgpStatusesOf(extension, "infData"),
    registrant: findText(infData, domainNamespace, "registrant"),
    contacts: findDomainContacts(infData),
    nameServers: findNameServers(infData),
    subordinateHosts: findChildren(infData, domainNamespace, "host").map(textOf),
    clID: findText(infData, domainNamespace, "clID"),
    crID: findText(infData, domainNamespace, "crID"),
    crDate: findDate(infData, domainNamespace, "crDate"),
    exDate: findDate(infData, domainNamespace, "exDate"),
    // Registries send arbitrary text when there was no update or transfer yet. No decision depends on these dates.
    upDate: tolerate(() => findDate(infData, domainNamespace, "upDate")),
    trDate: tolerate(() => findDate(infData, domainNamespace, "trDate")),
    authInfo: password === undefined ? undefined : new Secret(password),
    secDns: findSecDns(extension),
  };
}
