import type { Secret } from "#lib/secret.ts";
import type { EppCommand } from "#registry/epp/command.ts";
import { commandFrame } from "#registry/epp/command.ts";
import type { Money } from "#registry/epp/commands/domain/fee.ts";
import { feeElement } from "#registry/epp/commands/domain/fee.ts";
import type { TransferData } from "#registry/epp/commands/domain/transfer-data.ts";
import { findTransferData } from "#registry/epp/commands/domain/transfer-data.ts";
import { domainNamespace, eppNamespace } from "#registry/epp/namespaces.ts";
import { elementsOf, tolerate, XmlError } from "#registry/epp/xml/xml.ts";

export interface DomainTransferRequest {
  /** An A-label name. */
  readonly name: string;
  /** For a request: the period of the renewal, where a transfer includes one. */
  readonly periodYears?: number;
  /** The holder's authInfo: required for a request, and for a query by a third registrar. */
  readonly authInfo?: Secret;
  /** For a request: the price that we accept; only on a session that has the fee extension. */
  readonly fee?: Money;
}

const epp = elementsOf(eppNamespace);
const domain = elementsOf(domainNamespace);

/**
 * RFC 5731 §3.1.3 and §3.2.4: requests the transfer of another registrar's domain, queries its status, or decides about it. A
 * success has the transfer's data, which some registries omit after a decision.
 */
export function domainTransfer(
  operation: "query" | "request" | "approve" | "reject" | "cancel",
  { name, periodYears, authInfo, fee }: DomainTransferRequest,
): EppCommand<TransferData> {
  const element = domain("transfer", [
    domain("name", [name]),
    periodYears === undefined ? undefined : domain("period", [String(periodYears)], { unit: "y" }),
    authInfo && domain("authInfo", [domain("pw", [authInfo])]),
  ]);
  const verb = epp("transfer", [element], { op: operation });
  return {
    name: `domain:transfer-${operation}`,
    kind: operation === "query" ? "query" : "transform",
    frame: (clTRID) => commandFrame(verb, clTRID, [feeElement("transfer", fee)]),
    parse: (resData) => {
      if (operation !== "query") return tolerate(() => findTransferData(resData));
      const data = findTransferData(resData);
      if (!data) throw new XmlError("<trnData> is missing in <resData>");
      return data;
    },
  };
}
