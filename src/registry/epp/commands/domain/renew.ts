import type { EppCommand } from "#registry/epp/command.ts";
import { objectCommandFrame } from "#registry/epp/command.ts";
import type { Money } from "#registry/epp/commands/domain/fee.ts";
import { feeElement, findCharge } from "#registry/epp/commands/domain/fee.ts";
import { type PeriodForm, periodOf } from "#registry/epp/commands/domain/period.ts";
import { domainNamespace } from "#registry/epp/namespaces.ts";
import { findDate } from "#registry/epp/xml/values.ts";
import { elementsOf, findChild, getText, tolerate } from "#registry/epp/xml/xml.ts";

export interface DomainRenewRequest {
  /** An A-label name. */
  readonly name: string;
  /** The exDate that an info shows. Its UTC day is sent, so that a repeated renew fails instead of being charged twice. */
  readonly currentExDate: Date;
  readonly periodYears: number;
  /** Default: in years. */
  readonly periodForm?: PeriodForm;
  /** The price that we accept; only on a session that has the fee extension. */
  readonly fee?: Money;
}

export interface DomainRenewed {
  readonly name: string;
  readonly exDate: Date | undefined;
  /** The fee charged, if the registry reports it. */
  readonly charge?: Money;
}

const domain = elementsOf(domainNamespace);

/** RFC 5731 §3.2.3. If the answer's data cannot be read there is none; the name is still renewed or pending. */
export function domainRenew(request: DomainRenewRequest): EppCommand<DomainRenewed> {
  const period = periodOf(request.periodYears, request.periodForm);
  const element = domain("renew", [
    domain("name", [request.name]),
    domain("curExpDate", [request.currentExDate.toISOString().slice(0, "YYYY-MM-DD".length)]),
    period && domain("period", [period.text], period.attributes),
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
