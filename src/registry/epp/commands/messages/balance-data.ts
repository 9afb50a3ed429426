/** What messages say about our account's balance. There is no RFC: each of these forms is that of widespread server software. */
import { lowBalanceNamespace } from "#registry/epp/namespaces.ts";
import type { XmlElement } from "#registry/epp/xml/xml.ts";
import { findAttribute, findChild, findText, isElement, XmlError } from "#registry/epp/xml/xml.ts";

export interface BalanceData {
  readonly available: number;
  /** At or below this amount the registry calls it low. */
  readonly threshold: number;
  /** Where each zone has a separate account. */
  readonly zone: string | undefined;
}

/**
 * @param parents the elements of the answer that may contain it
 * @returns undefined when there is none
 * @throws XmlError when an amount is missing or is none
 */
export function findBalanceData(parents: readonly (XmlElement | undefined)[]): BalanceData | undefined {
  for (const parent of parents) {
    const pollData = findChild(parent, lowBalanceNamespace, "pollData");
    if (pollData) return readPollData(pollData);
    const lowCredit = parent?.children.filter(isElement).find(isLowCredit);
    if (lowCredit) return readLowCredit(lowCredit);
  }
  return undefined;
}

/** With a credit limit, a threshold in per cent of it, or an amount. */
function readPollData(pollData: XmlElement): BalanceData {
  const amount = (name: string) => amountOf(findText(pollData, lowBalanceNamespace, name));
  const threshold = findChild(pollData, lowBalanceNamespace, "creditThreshold");
  const given = amount("creditThreshold");
  const isPercent = threshold !== undefined && findAttribute(threshold, "type") === "PERCENT";
  return {
    available: amount("availableCredit"),
    threshold: isPercent ? (amount("creditLimit") * given) / 100 : given,
    zone: undefined,
  };
}

/** FRED's `<lowCreditData>`, whose namespace ends with its version. */
const isLowCredit = ({ name, namespace }: XmlElement) => name === "lowCreditData" && /\/fred-\d[\d.]*$/.test(namespace);

function readLowCredit(lowCredit: XmlElement): BalanceData {
  const { namespace } = lowCredit;
  const amount = (name: string) => amountOf(findText(findChild(lowCredit, namespace, name), namespace, "credit"));
  return { available: amount("credit"), threshold: amount("limit"), zone: findText(lowCredit, namespace, "zone") };
}

function amountOf(text: string | undefined): number {
  if (text === undefined || !/^-?\d{1,15}(\.\d{1,10})?$/.test(text)) throw new XmlError("an amount is not a number");
  return Number(text);
}
