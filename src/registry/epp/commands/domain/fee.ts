/** Fees (RFC 8748): an extension of the domain check and of the commands that cost money. */
import { type PeriodForm, periodOf } from "#registry/epp/commands/domain/period.ts";
import { feeNamespace } from "#registry/epp/namespaces.ts";
import { parseXmlBoolean } from "#registry/epp/xml/values.ts";
import type { XmlElement } from "#registry/epp/xml/xml.ts";
import {
  elementsOf,
  findAttribute,
  findChild,
  findChildren,
  findText,
  getAttribute,
  getText,
  textOf,
  tolerate,
  XmlError,
} from "#registry/epp/xml/xml.ts";

/** Commands that may have a fee (RFC 8748 §3.1). */
export type FeeCommand = "create" | "delete" | "renew" | "update" | "transfer" | "restore";

/** An amount as the registry writes it, e.g. "100.00": money is never a float. */
export interface Money {
  readonly amount: string;
  /** ISO 4217, e.g. "EUR". */
  readonly currency: string;
}

/** Which prices a check asks for. */
export interface FeeQuestion {
  readonly commands: readonly { readonly command: FeeCommand; readonly periodYears?: number }[];
  /** Default: in years. */
  readonly periodForm?: PeriodForm;
  /** Default: the registry's currency. An unsupported one is answered with 2004. */
  readonly currency?: string | undefined;
}

export interface FeePrice {
  readonly command: string;
  readonly periodYears: number | undefined;
  /** The sum of fees and credits; undefined when the registry gives none, as for a command that is not possible. */
  readonly amount: string | undefined;
  /** Whether it is the command's price for a standard name. */
  readonly isStandard: boolean;
  /** The registry's reason for giving no price. */
  readonly reason: string | undefined;
}

/** The prices in a check's answer. */
export interface DomainFees {
  readonly currency: string;
  /** "standard", or the registry's class for a premium name; undefined where it has no classes (RFC 8748 §3.7). */
  readonly class: string | undefined;
  readonly prices: readonly FeePrice[];
}

const fee = elementsOf(feeNamespace);

/** RFC 8748 §5.1.1. */
export function feeCheckElement(question: FeeQuestion | undefined): XmlElement | undefined {
  if (!question) return undefined;
  const { commands, currency, periodForm } = question;
  return fee("check", [
    currency === undefined ? undefined : fee("currency", [currency]),
    ...commands.map(({ command, periodYears }) => {
      const period = periodYears === undefined ? undefined : periodOf(periodYears, periodForm);
      return fee("command", period ? [fee("period", [period.text], period.attributes)] : [], { name: command });
    }),
  ]);
}

/** RFC 8748 §5.2: the price that we accept; the registry refuses the command if its price differs. */
export function feeElement(command: "create" | "renew" | "transfer" | "update", price: Money | undefined) {
  return price && fee(command, [fee("currency", [price.currency]), fee("fee", [price.amount])]);
}

/** RFC 8748 §5.1.1, for the checked name. @throws XmlError */
export function findFees(extension: XmlElement | undefined, name: string): DomainFees | undefined {
  const chkData = findChild(extension, feeNamespace, "chkData");
  if (!chkData) return undefined;
  const answer = findChildren(chkData, feeNamespace, "cd").find(
    (cd) => getText(cd, feeNamespace, "objID").toLowerCase() === name.toLowerCase(),
  );
  return (
    answer && {
      currency: getText(chkData, feeNamespace, "currency"),
      class: findText(answer, feeNamespace, "class"),
      prices: findChildren(answer, feeNamespace, "command").map(parsePrice),
    }
  );
}

function parsePrice(element: XmlElement): FeePrice {
  const period = findChild(element, feeNamespace, "period");
  return {
    command: getAttribute(element, "name"),
    periodYears: period && findAttribute(period, "unit") === "y" ? Number(textOf(period)) : undefined,
    amount: sumOf(element),
    isStandard: parseXmlBoolean(findAttribute(element, "standard") ?? "0"),
    reason: findText(element, feeNamespace, "reason"),
  };
}

/**
 * RFC 8748 §5.2: the fee charged for a command; undefined when the answer does not contain it, or it cannot be read. The command
 * was executed in any case.
 */
export function findCharge(
  extension: XmlElement | undefined,
  name: "creData" | "renData" | "trnData" | "updData" | "delData",
): Money | undefined {
  const data = findChild(extension, feeNamespace, name);
  const amount = data && tolerate(() => sumOf(data));
  const currency = findText(data, feeNamespace, "currency");
  return amount === undefined || currency === undefined ? undefined : { amount, currency };
}

/** The sum of fees and credits; credits are negative (RFC 8748 §3.4). */
function sumOf(parent: XmlElement): string | undefined {
  const parts = [...findChildren(parent, feeNamespace, "fee"), ...findChildren(parent, feeNamespace, "credit")];
  return parts.length === 0 ? undefined : addAmounts(parts.map(textOf));
}

/** The exact sum, in the smallest unit that any amount uses. */
function addAmounts(amounts: readonly string[]): string {
  const bad = amounts.find((amount) => !/^[+-]?\d{1,20}(\.\d{0,6})?$/.test(amount));
  if (bad !== undefined) throw new XmlError("a fee is not an amount");
  const decimals = Math.max(...amounts.map((amount) => amount.split(".")[1]?.length ?? 0));
  const units = amounts.map((amount) => {
    const [whole = "", fraction = ""] = amount.replace("+", "").split(".");
    return BigInt(whole + fraction.padEnd(decimals, "0"));
  });
  const total = units.reduce((sum, unit) => sum + unit, 0n);
  const digits = (total < 0n ? -total : total).toString().padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals);
  const text = decimals === 0 ? whole : `${whole}.${digits.slice(-decimals)}`;
  return total < 0n ? `-${text}` : text;
}
