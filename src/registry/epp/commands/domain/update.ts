import type { Secret } from "#lib/secret.ts";
import type { EppCommand } from "#registry/epp/command.ts";
import { objectCommandFrame } from "#registry/epp/command.ts";
import type { DomainContact } from "#registry/epp/commands/domain/contacts.ts";
import { domainContactElements } from "#registry/epp/commands/domain/contacts.ts";
import type { Money } from "#registry/epp/commands/domain/fee.ts";
import { feeElement } from "#registry/epp/commands/domain/fee.ts";
import type { NameServers } from "#registry/epp/commands/domain/name-servers.ts";
import { nameServersElement } from "#registry/epp/commands/domain/name-servers.ts";
import type { SecDnsUpdate } from "#registry/epp/commands/domain/sec-dns.ts";
import { secDnsUpdateElement } from "#registry/epp/commands/domain/sec-dns.ts";
import { domainNamespace, secDnsNamespace } from "#registry/epp/namespaces.ts";
import type { XmlElement } from "#registry/epp/xml/xml.ts";
import { elementsOf, optionalOf } from "#registry/epp/xml/xml.ts";

/** What is added to a domain, or removed from it. */
export interface DomainParts {
  readonly nameServers?: NameServers;
  readonly contacts?: readonly DomainContact[];
  /** Statuses that a registrar may set: "clientHold", "clientTransferProhibited" … (RFC 5731 §2.3). */
  readonly statuses?: readonly string[];
}

export interface DomainUpdateRequest {
  /** An A-label name. */
  readonly name: string;
  readonly add?: DomainParts;
  readonly remove?: DomainParts;
  /** A contact id; "" removes the registrant. */
  readonly registrant?: string;
  /** Null removes it (RFC 5731 §3.2.5). */
  readonly authInfo?: Secret | null;
  /** Only on a session that has the secDNS extension. */
  readonly secDns?: SecDnsUpdate;
  /** The price that we accept; only on a session that has the fee extension. */
  readonly fee?: Money;
}

const domain = elementsOf(domainNamespace);
const optional = optionalOf(domain);

/** RFC 5731 §3.2.5: 1000 when the domain is changed, 1001 when the change is pending. */
export function domainUpdate(request: DomainUpdateRequest): EppCommand<undefined> {
  const element = domain("update", [
    domain("name", [request.name]),
    partsElement("add", request.add),
    partsElement("rem", request.remove),
    changeElement(request),
  ]);
  const extensions = [secDnsUpdateElement(request.secDns), feeElement("update", request.fee)];
  return {
    name: "domain:update",
    kind: "transform",
    ...(request.secDns && { extensionURIs: [secDnsNamespace] }),
    frame: (clTRID) => objectCommandFrame(element, clTRID, extensions),
    parse: () => undefined,
  };
}

/**
 * Asks the registry to send the name's auth code to its holder. RFC 5731 §3.2.5 allows an update without add, rem and chg if it is
 * extended: the extension, which says what is asked for, is the registry's (profile or flavour).
 */
export function domainCodeRequest(name: string): EppCommand<undefined> {
  return { ...domainUpdate({ name }), facts: { sendsCodeToHolder: true } };
}

function partsElement(name: "add" | "rem", parts: DomainParts | undefined): XmlElement | undefined {
  if (!parts) return undefined;
  return domain(name, [
    nameServersElement(parts.nameServers),
    ...domainContactElements(parts.contacts),
    ...(parts.statuses ?? []).map((status) => domain("status", [], { s: status })),
  ]);
}

function changeElement({ registrant, authInfo }: DomainUpdateRequest): XmlElement | undefined {
  if (registrant === undefined && authInfo === undefined) return undefined;
  const credential = authInfo === null ? domain("null", []) : optional("pw", authInfo);
  return domain("chg", [optional("registrant", registrant), credential && domain("authInfo", [credential])]);
}
