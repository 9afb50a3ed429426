import type { Secret } from "#lib/secret.ts";
import type { EppCommand } from "#registry/epp/command.ts";
import { objectCommandFrame } from "#registry/epp/command.ts";
import { allocationTokenElement } from "#registry/epp/commands/domain/allocation-token.ts";
import type { DomainContact } from "#registry/epp/commands/domain/contacts.ts";
import { domainContactElements } from "#registry/epp/commands/domain/contacts.ts";
import type { Money } from "#registry/epp/commands/domain/fee.ts";
import { feeElement, findCharge } from "#registry/epp/commands/domain/fee.ts";
import type { NameServers } from "#registry/epp/commands/domain/name-servers.ts";
import { nameServersElement } from "#registry/epp/commands/domain/name-servers.ts";
import { type PeriodForm, periodOf } from "#registry/epp/commands/domain/period.ts";
import type { SecDns } from "#registry/epp/commands/domain/sec-dns.ts";
import { secDnsCreateElement } from "#registry/epp/commands/domain/sec-dns.ts";
import { domainNamespace } from "#registry/epp/namespaces.ts";
import { findDate, getDate } from "#registry/epp/xml/values.ts";
import type { XmlElement } from "#registry/epp/xml/xml.ts";
import { elementsOf, findChild, getText, optionalOf, tolerate } from "#registry/epp/xml/xml.ts";

export interface DomainCreateRequest {
  /** An A-label name. */
  readonly name: string;
  /** 1 to 99; the registry's policy allows fewer. */
  readonly periodYears: number;
  /** Default: in years. */
  readonly periodForm?: PeriodForm;
  readonly nameServers?: NameServers;
  /** A thin registry has neither registrant nor contacts. */
  readonly registrant?: string;
  readonly contacts?: readonly DomainContact[];
  readonly authInfo: Secret;
  /** Only on a session that has the secDNS extension. */
  readonly secDns?: SecDns;
  /** The price that we accept; only on a session that has the fee extension. */
  readonly fee?: Money;
  /** Only on a session that has the allocationToken extension. */
  readonly allocationToken?: Secret;
}

export interface DomainCreated {
  readonly name: string;
  readonly crDate: Date;
  readonly exDate: Date | undefined;
  /** The fee charged, if the registry reports it. */
  readonly charge?: Money;
}

const domain = elementsOf(domainNamespace);
const optional = optionalOf(domain);

/** RFC 5731 §3.2.1. If the answer's data cannot be read there is none; the name is still created or pending. */
export function domainCreate(request: DomainCreateRequest): EppCommand<DomainCreated> {
  const extensions = [
    secDnsCreateElement(request.secDns),
    feeElement("create", request.fee),
    allocationTokenElement(request.allocationToken),
  ];
  return {
    name: "domain:create",
    kind: "transform",
    frame: (clTRID) => objectCommandFrame(createElement(request), clTRID, extensions),
    parse: (resData, { extension }) => {
      const creData = findChild(resData, domainNamespace, "creData");
      const charge = findCharge(extension, "creData");
      return tolerate(() => ({
        name: getText(creData, domainNamespace, "name"),
        crDate: getDate(creData, domainNamespace, "crDate"),
        exDate: findDate(creData, domainNamespace, "exDate"),
        ...(charge && { charge }),
      }));
    },
  };
}

function createElement(request: DomainCreateRequest): XmlElement {
  const period = periodOf(request.periodYears, request.periodForm);
  return domain("create", [
    domain("name", [request.name]),
    period && domain("period", [period.text], period.attributes),
    nameServersElement(request.nameServers),
    optional("registrant", request.registrant),
    ...domainContactElements(request.contacts),
    domain("authInfo", [domain("pw", [request.authInfo])]),
  ]);
}
