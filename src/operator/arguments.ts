/** Parses the values of an operator's options: a wrong value is reported before anything is done. */
import { isIP } from "node:net";
import { InvalidArgumentError, Option } from "commander";
import { parseOrderCode } from "#lib/order-code.ts";

/** A whole number within limits. */
export function wholeNumber(minimum: number, maximum: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^[0-9]{1,15}$/.test(text) && value >= minimum && value <= maximum) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${minimum} to ${maximum}.`);
  };
}

const listedMax = 100_000;
const listedDefault = 50;

/** For commands that list. */
export function limitOption(byDefault = listedDefault): Option {
  return new Option("--limit <n>", "the maximum number of rows")
    .argParser(wholeNumber(1, listedMax))
    .default(byDefault);
}

/** `ftp.example.net:21`, `192.0.2.7:21` or `[2001:db8::7]:21`. */
export function endpoint(text: string): { host: string; port: number } {
  const [, bracketed, plain, port = ""] = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9.-]+)):([0-9]{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  if (host !== undefined && Number(port) >= 1 && Number(port) <= 65_535) return { host, port: Number(port) };
  throw new InvalidArgumentError("It must be a host and a port, such as ftp.example.net:21.");
}

const nameCharsMax = 100;

/** A name that people read and type: no surrounding white space, no control characters. */
export function printableName(text: string): string {
  if (text.length <= nameCharsMax && /^[^\p{C}\s]([^\p{C}]*[^\p{C}\s])?$/u.test(text)) return text;
  throw new InvalidArgumentError(`It must be 1 to ${nameCharsMax} printable characters, with no space around them.`);
}

const textCharsMax = 500;

/** A sentence for the record: no control characters, and not empty. */
export function printableText(text: string): string {
  if (text.length <= textCharsMax && /^[^\p{C}]*[^\p{C}\s][^\p{C}]*$/u.test(text)) return text;
  throw new InvalidArgumentError(`It must be 1 to ${textCharsMax} printable characters.`);
}

/** An order's code, in any spelling. */
export function orderCode(text: string): string {
  const code = parseOrderCode(text);
  if (code === undefined) throw new InvalidArgumentError("It must be a code such as REG-7K3M9QX2-4TD.");
  return code;
}

/** An address or a range, `192.0.2.1` or `2001:db8::/32`; each use of the option adds one. */
export function addressRange(text: string, others: readonly string[] = []): string[] {
  const [base = "", prefix, ...rest] = text.split("/");
  const bitsMax = { 0: -1, 4: 32, 6: 128 }[isIP(base)] ?? -1;
  const isPrefix = prefix === undefined || (/^[0-9]{1,3}$/.test(prefix) && Number(prefix) <= bitsMax);
  if (bitsMax > 0 && isPrefix && rest.length === 0) return [...others, text];
  throw new InvalidArgumentError("It must be an address such as 192.0.2.1, or a range such as 2001:db8::/32.");
}

/** `2027-01-31` (its start in UTC) or a full timestamp. */
export function pointInTime(text: string): Date {
  const time = new Date(text);
  if (/^[0-9]{4}-[0-9]{2}-[0-9]{2}(T.*(Z|[+-][0-9]{2}:[0-9]{2}))?$/.test(text) && !Number.isNaN(time.getTime())) {
    return time;
  }
  throw new InvalidArgumentError("It must be a date such as 2027-01-31 or 2027-01-31T18:00:00Z.");
}
