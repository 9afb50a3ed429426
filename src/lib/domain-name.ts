import { canonicalHostName, displayHostName } from "#lib/idna.ts";

declare const domainNameBrand: unique symbol;
/**
 * A domain name in canonical form: lower-case A-labels, two or more, no trailing dot. Only `parseDomainName` makes one.
 */
export type DomainName = string & { readonly [domainNameBrand]: true };

/** The message says what is wrong and what to do. It contains none of the input, so it can be sent and logged. */
export class InvalidDomainName extends Error {
  override readonly name = "InvalidDomainName";
}

/** The position of a name relative to the served suffixes: `refusal` says why it cannot be registered. */
export type SuffixPlacement = { label: string; suffix: string } | { refusal: "is_suffix" | "too_deep" | "not_served" };

/**
 * Reads a domain name in U-labels or A-labels, in any case, with or without the trailing dot.
 * @throws InvalidDomainName for anything else, including IP addresses and single labels
 */
export function parseDomainName(text: string): DomainName {
  const result = canonicalHostName(text);
  if ("problem" in result) throw new InvalidDomainName(`The name ${result.problem}.`);
  if (!result.name.includes(".")) {
    throw new InvalidDomainName("The name has no suffix: give at least two labels, such as example.com.");
  }
  return result.name as DomainName;
}

/** Whether the text is a domain name in canonical form. */
export function isDomainName(text: string): text is DomainName {
  const result = canonicalHostName(text);
  return "name" in result && result.name === text && text.includes(".");
}

/**
 * Exactly one label under the longest matching suffix can be registered.
 * @param suffixes in canonical form, without a leading dot ("com", "co.uk")
 */
export function labelUnderSuffix(name: DomainName, suffixes: Pick<ReadonlySet<string>, "has">): SuffixPlacement {
  if (suffixes.has(name)) return { refusal: "is_suffix" };
  const [label = "", ...parents] = name.split(".");
  if (suffixes.has(parents.join("."))) return { label, suffix: parents.join(".") };
  const deeper = parents.some((_parent, index) => suffixes.has(parents.slice(index).join(".")));
  return { refusal: deeper ? "too_deep" : "not_served" };
}

/** The name in U-labels, for people to read; never for comparing or storing. */
export function toUnicode(name: DomainName): string {
  return displayHostName(name);
}
