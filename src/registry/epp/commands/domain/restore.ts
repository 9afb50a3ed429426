import type { Secret } from "#lib/secret.ts";
import type { EppCommand } from "#registry/epp/command.ts";
import { objectCommandFrame } from "#registry/epp/command.ts";
import type { Money } from "#registry/epp/commands/domain/fee.ts";
import { feeElement } from "#registry/epp/commands/domain/fee.ts";
import { rgpStatusesOf } from "#registry/epp/commands/domain/rgp.ts";
import { domainNamespace, rgpNamespace } from "#registry/epp/namespaces.ts";
import type { XmlElement } from "#registry/epp/xml/xml.ts";
import { elementsOf, tolerate } from "#registry/epp/xml/xml.ts";

/** The restore report: why a deleted name is restored (RFC 3915 §4.2.5). */
export interface RestoreReport {
  /** The registration data before the deletion, and after the restoration. */
  readonly preData: string | Secret;
  readonly postData: string | Secret;
  readonly deletedAt: Date;
  readonly restoredAt: Date;
  readonly reason: string;
  /** One or two: that the registrar has not restored it for itself, and that the report is true. */
  readonly statements: readonly [string, string?];
  readonly other?: string;
}

export interface DomainRestored {
  /** E.g. "pendingRestore"; none where the registry does not say. */
  readonly rgpStatuses: readonly string[];
}

const domain = elementsOf(domainNamespace);
const rgp = elementsOf(rgpNamespace);

/**
 * RFC 3915 §4.2.5: restores a name from its redemption period. Only on a session that has the rgp extension.
 * @param price that we accept (RFC 8748 §5.2.5); only on a session that has the fee extension
 */
export function domainRestoreRequest(name: string, price?: Money): EppCommand<DomainRestored> {
  return restore("domain:restore-request", name, rgp("restore", [], { op: "request" }), price);
}

/** RFC 3915 §4.2.5: a registry that requires a report reverts the restoration when none comes. */
export function domainRestoreReport(name: string, report: RestoreReport): EppCommand<DomainRestored> {
  const element = rgp("report", [
    rgp("preData", [report.preData]),
    rgp("postData", [report.postData]),
    rgp("delTime", [report.deletedAt.toISOString()]),
    rgp("resTime", [report.restoredAt.toISOString()]),
    rgp("resReason", [report.reason]),
    ...report.statements.map((text) => (text === undefined ? undefined : rgp("statement", [text]))),
    report.other === undefined ? undefined : rgp("other", [report.other]),
  ]);
  return restore("domain:restore-report", name, rgp("restore", [element], { op: "report" }));
}

/** An update that does not change the domain: RFC 3915 §4.2.5 requires an empty `<chg>`. */
function restore(commandName: string, name: string, element: XmlElement, price?: Money): EppCommand<DomainRestored> {
  const update = domain("update", [domain("name", [name]), domain("chg", [])]);
  return {
    name: commandName,
    kind: "transform",
    extensionURIs: [rgpNamespace],
    frame: (clTRID) => objectCommandFrame(update, clTRID, [rgp("update", [element]), feeElement("update", price)]),
    parse: (_resData, { extension }) => ({ rgpStatuses: tolerate(() => rgpStatusesOf(extension, "upData")) ?? [] }),
  };
}
