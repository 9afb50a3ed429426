import { Refusal } from "./result-codes.ts";

const nameCharsMax = 253;
const label = /^(?!-)(?!..--)[a-z0-9-]{1,63}(?<!-)$/;
const aLabel = /^xn--[a-z0-9-]{1,59}(?<!-)$/;

/** The name in lower case if it has two or more LDH labels (RFC 5890 §2.3.1; "??--" only as xn--); otherwise undefined. */
export function parseDomainName(text: string): string | undefined {
  const name = text.toLowerCase();
  const parts = name.split(".");
  const valid = name.length <= nameCharsMax && parts.every((part) => label.test(part) || aLabel.test(part));
  return valid && parts.length > 1 ? name : undefined;
}

/** Like parseDomainName, but refuses with 2005. */
export function requireDomainName(text: string): string {
  const name = parseDomainName(text);
  if (name === undefined) throw new Refusal(2005, "not a domain name");
  return name;
}

/** Whether `name` is exactly one label below a served suffix. */
export function isServed(name: string, suffixes: readonly string[]): boolean {
  return suffixes.includes(name.slice(name.indexOf(".") + 1));
}

/** The registered name that a host is or is below: one label below the longest suffix. Undefined for other hosts. */
export function superordinateName(host: string, suffixes: readonly string[]): string | undefined {
  const own = suffixes.filter((suffix) => host.endsWith(`.${suffix}`));
  const suffix = own.sort((one, other) => other.length - one.length)[0];
  if (suffix === undefined) return undefined;
  return `${host
    .slice(0, -suffix.length - 1)
    .split(".")
    .at(-1)}.${suffix}`;
}
