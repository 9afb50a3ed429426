import { contactNamespace, domainNamespace } from "#registry/epp/namespaces.ts";
import { findDate } from "#registry/epp/xml/values.ts";
import type { XmlElement } from "#registry/epp/xml/xml.ts";
import { findChild, findText, getText } from "#registry/epp/xml/xml.ts";

/** A transfer's status (RFC 5731 §3.1.3, RFC 5733 §3.1.3). */
export interface TransferData {
  readonly object: "domain" | "contact";
  /** The domain's name, or the contact's id. */
  readonly id: string;
  /** "pending", "clientApproved", "clientRejected", "clientCancelled", "serverApproved", "serverCancelled". */
  readonly status: string;
  /** Who requested it, and when. */
  readonly reID: string;
  readonly reDate: Date | undefined;
  /** Who has to act or has acted, and until when or when. */
  readonly acID: string | undefined;
  readonly acDate: Date | undefined;
  /** The domain's expiry date after the transfer, if that changes. */
  readonly exDate: Date | undefined;
}

const objects = [
  { object: "domain", namespace: domainNamespace, idElement: "name" },
  { object: "contact", namespace: contactNamespace, idElement: "id" },
] as const;

/**
 * Reads `<domain:trnData>` or `<contact:trnData>`; undefined when there is neither. The RFCs require all but the exDate; without
 * dates or acID it is known still that there is a transfer, and who gets the object.
 * @throws XmlError without the object, the status or the reID, and on a date that is none
 */
export function findTransferData(resData: XmlElement | undefined): TransferData | undefined {
  for (const { object, namespace, idElement } of objects) {
    const trnData = findChild(resData, namespace, "trnData");
    if (!trnData) continue;
    return {
      object,
      id: getText(trnData, namespace, idElement),
      status: getText(trnData, namespace, "trStatus"),
      reID: getText(trnData, namespace, "reID"),
      reDate: findDate(trnData, namespace, "reDate"),
      acID: findText(trnData, namespace, "acID"),
      acDate: findDate(trnData, namespace, "acDate"),
      exDate: findDate(trnData, namespace, "exDate"),
    };
  }
  return undefined;
}
