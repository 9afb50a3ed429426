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
  /** With a request: for how long it is renewed, where the registry does that. */
  readonly periodYears?: number;
  /** The holder's: needed for a request, and for a query by somebody who takes no part. */
  readonly authInfo?: Secret;
  /** With a request: the price that is agreed to; only on a session that has the fee extension. */
  readonly fee?: Money;
}

const epp = elementsOf(eppNamespace);
const domain = elementsOf(domainNamespace);

/**
 * RFC 5731 §3.1.3 and §3.2.4: asks for a domain of another registrar's, asks how that stands, or decides about it. A
 * success brings the transfer's data; some registries leave it out of a decision's answer.
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
