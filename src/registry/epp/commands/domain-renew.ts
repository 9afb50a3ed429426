import type { EppCommand } from "../command.ts";
import { objectCommandFrame } from "../command.ts";
import { domainNamespace } from "../namespaces.ts";
import { elementsOf, getChild, getText } from "../xml.ts";
import { findDate } from "../xml-values.ts";
import type { Money } from "./fee.ts";
import { feeElement, findCharge } from "./fee.ts";

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

/** RFC 5731 §3.2.3. A pending renewal (1001) may come without data. */
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
    parse: (resData, { code, extension }) => {
      if (!resData && code === 1001) return undefined;
      const renData = getChild(resData, domainNamespace, "renData");
      const charge = findCharge(extension, "renData");
      return {
        name: getText(renData, domainNamespace, "name"),
        exDate: findDate(renData, domainNamespace, "exDate"),
        ...(charge && { charge }),
      };
    },
  };
}
