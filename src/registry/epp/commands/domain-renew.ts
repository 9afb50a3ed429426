import type { EppCommand } from "../command.ts";
import { objectCommandFrame } from "../command.ts";
import { domainNamespace } from "../namespaces.ts";
import { elementsOf, findText, getChild, getText } from "../xml.ts";
import { parseXmlDate } from "../xml-values.ts";

export interface DomainRenewRequest {
  /** An A-label name. */
  readonly name: string;
  /** The registry's exDate as info shows it; its UTC day is sent, which makes a repeated renew fail instead of paying twice. */
  readonly currentExDate: Date;
  readonly periodYears: number;
}

export interface DomainRenewed {
  readonly name: string;
  readonly exDate: Date | undefined;
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
    frame: (clTRID) => objectCommandFrame(element, clTRID),
    parse: (resData, { code }) => {
      if (!resData && code === 1001) return undefined;
      const renData = getChild(resData, domainNamespace, "renData");
      const exDate = findText(renData, domainNamespace, "exDate");
      return {
        name: getText(renData, domainNamespace, "name"),
        exDate: exDate === undefined ? undefined : parseXmlDate(exDate),
      };
    },
  };
}
