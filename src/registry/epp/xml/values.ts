import type { XmlElement } from "#registry/epp/xml/xml.ts";
import { findText, getText, XmlError } from "#registry/epp/xml/xml.ts";

// No error here quotes the value: a registry may echo a secret anywhere.

/** XML Schema's boolean. @throws XmlError on any other text */
export function parseXmlBoolean(text: string): boolean {
  if (text === "1" || text === "true") return true;
  if (text === "0" || text === "false") return false;
  throw new XmlError("a value is not a boolean");
}

const dateTimePattern = /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:?\d\d)?)?$/i;

/**
 * Parses a registry's time, with or without a fraction, an offset or the time of day. Without an offset it is UTC, which RFC
 * 5731 §2.4 requires anyway. Fractions are kept to the millisecond.
 * @throws XmlError when it is not a date
 */
export function parseXmlDate(text: string): Date {
  const [, day, time = "00:00:00", fraction = "", offset = "Z"] = dateTimePattern.exec(text) ?? [];
  const zone = offset.toUpperCase().replace(/^(...)(\d\d)$/, "$1:$2");
  const date = new Date(`${day}T${time}${fraction.slice(0, 4)}${zone}`);
  // An offset may lead out of the years that are written with four digits, which the database could not read again.
  const year = date.getUTCFullYear();
  if (!(year >= 1 && year <= 9999)) throw new XmlError("a value is not a date");
  return date;
}

/** The date in the first child with this name; undefined when the child is absent or empty. @throws XmlError on other text */
export function findDate(parent: XmlElement | undefined, namespace: string, name: string): Date | undefined {
  const text = findText(parent, namespace, name);
  return text === undefined ? undefined : parseXmlDate(text);
}

/** The date in the first child with this name. @throws XmlError when it is missing or not a date */
export function getDate(parent: XmlElement | undefined, namespace: string, name: string): Date {
  return parseXmlDate(getText(parent, namespace, name));
}
