import type { EppCommand } from "#registry/epp/command.ts";
import { objectCommandFrame } from "#registry/epp/command.ts";
import type { Money } from "#registry/epp/commands/domain/fee.ts";
import { feeElement, findCharge } from "#registry/epp/commands/domain/fee.ts";
import { domainNamespace } from "#registry/epp/namespaces.ts";
import { findDate } from "#registry/epp/xml/values.ts";
import { elementsOf, findChild, getText, tolerate } from "#registry/epp/xml/xml.ts";

export interface DomainRenewRequest {
  /** An A-label name. */
  readonly name: string;
  /** The registry's exDate as info shows it; its UTC day is sent, which makes a repeated renew fail instead of paying twice. */
  readonly currentExDate: Date;
  readonly periodYears: number;
  /** The price that is agreed to; only on a session that has the fee extension. */
  readonly fee?: Money;
}

export interface DomainRenewed {
  readonly name: string;
  readonly exDate: Date | undefined;
  /** What it cost, where the registry tells. */
  readonly charge?: Money;
}

const domain = elementsOf(domainNamespace);

/** RFC 5731 §3.2.3. No data where the answer has none that can be read: the name is renewed, or pending, all the same. */
export function domainRenew(request: DomainRenewRequest): EppCommand<DomainRenewed> {
  const element = domain("renew", [
    domain("name", [request.name]),
    domain("curExpDate", [request.currentExDate.toISOString().slice(0, "YYYY-MM-DD".length)]),
    domain("period", [String(request.periodYears)], { unit: "y" }),
  ]);
  return {
    name: "domain:renew",
    kind: "transform",
    frame: (clTRID) => objectCommandFrame(element, clTRID, [feeElement("renew", request.fee)]),
    parse: (resData, { extension }) => {
      const renData = findChild(resData, domainNamespace, "renData");
      const charge = findCharge(extension, "renData");
      return tolerate(() => ({
        name: getText(renData, domainNamespace, "name"),
        exDate: findDate(renData, domainNamespace, "exDate"),
        ...(charge && { charge }),
      }));
    },
  };
}
