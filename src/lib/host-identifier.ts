import { getPublicSuffix } from "tldts";
import { canonicalHostName, displayHostName } from "#lib/idna.ts";

declare const hostIdentifierBrand: unique symbol;
/** The identifier of a hosting account: a host name in canonical form. Only `parseHostIdentifier` makes one. */
export type HostIdentifier = string & { readonly [hostIdentifierBrand]: true };

/** The message says what is wrong and what to do. It contains none of the input, so it can be sent and logged. */
export class InvalidHostIdentifier extends Error {
  override readonly name = "InvalidHostIdentifier";
}

/** Leaves room for ".localhost" after it, the site domain of a test system (253 − 10). */
const identifierCharsMax = 243;
/** For a whole name (RFC 1035 section 2.3.4). */
const nameCharsMax = 253;

/**
 * Labels that cannot be a whole identifier, with or without a number after them ("ns1", "mail2"): hosts that clients look up
 * automatically (RFC 2142 roles, wpad, autodiscover) and names that could pass for the platform's.
 */
const reservedLabels = new Set(
  `abuse admin administrator api autoconfig autodiscover billing broadcasthost console control cpanel dns email ftp ftps
  gateway host hosting hostmaster http https imap ip isatap localhost login mail mta mx node noc noreply ns ntp panel pop
  postmaster proxy registry root security server sftp smtp ssh ssl status support sys sysadmin tls webdisk webmail
  webmaster wpad www`.split(/\s+/),
);

/** Names that are never in the public DNS or that mean the local host (RFC 6761, 6762, 7686, ICANN's "internal"). */
const specialUseDomains = ["localhost", "local", "internal", "invalid", "arpa", "onion"];

/** Scripts in everyday use (UAX #31 table 5), and the writing systems that mix some of them (UTS #39 §5.2). */
const scripts = `Arabic Armenian Bengali Bopomofo Cyrillic Devanagari Ethiopic Georgian Greek Gujarati Gurmukhi Hangul Han
  Hebrew Hiragana Kannada Katakana Khmer Lao Latin Malayalam Myanmar Oriya Sinhala Tamil Telugu Thaana Thai Tibetan`;
const scriptMixes = ["Latin Han Hiragana Katakana", "Latin Han Bopomofo", "Latin Han Hangul"];
const writingSystems = [...scripts.split(/\s+/), ...scriptMixes].map((mix) => {
  const members = [...mix.split(" "), "Common", "Inherited"].map((script) => `\\p{Script_Extensions=${script}}`);
  return new RegExp(`^[${members.join("")}]*$`, "u");
});
/** Cyrillic and Greek letters that look like Latin ones; a label of only these reads as another name. */
const latinLookAlikes = /^[аеорсухіјѕһӏԁԛԝαικνορυ0-9-]*$/u;

/**
 * Reads the identifier of a hosting account: a host name of one label or more, in U-labels or A-labels and any case.
 * @param options.reservedHosts the service's canonical names: neither they nor names under them are available. A single label
 * reserves that identifier, for a host of ours under the site domain.
 * @param options.siteDomain what follows the identifier in its site's name; there must be room for it
 * @throws InvalidHostIdentifier also for IP addresses, special-use and reserved names, and labels that imitate others
 */
export function parseHostIdentifier(
  text: string,
  { reservedHosts, siteDomain = "localhost" }: { reservedHosts: Iterable<string>; siteDomain?: string },
): HostIdentifier {
  const charsMax = Math.min(identifierCharsMax, nameCharsMax - 1 - siteDomain.length);
  return parseHost(text, { reservedHosts, called: "identifier", charsMax }) as HostIdentifier;
}

/**
 * The form in which an identifier or host name in a path is looked up. An invalid one is looked up unchanged and not found, so
 * that the answer takes as long as any other.
 */
export function canonicalForLookUp(text: string): string {
  try {
    return parseHostIdentifier(text, { reservedHosts: [] });
  } catch (error) {
    if (!(error instanceof InvalidHostIdentifier)) throw error;
    // PostgreSQL's text cannot contain NUL. No name contains a space either.
    return text.replaceAll("\0", " ");
  }
}

/**
 * Reads the identifier of a new account: more than one label, and not a suffix under which others have names. Older
 * accounts keep their identifiers.
 * @param options.suffixes the suffixes served here, in canonical form
 * @throws InvalidHostIdentifier
 */
export function parseNewHostIdentifier(
  text: string,
  options: { reservedHosts: Iterable<string>; siteDomain?: string; suffixes: Iterable<string> },
): HostIdentifier {
  const name = parseHostIdentifier(text, options);
  if (!name.includes(".")) {
    throw new InvalidHostIdentifier("The identifier has one label only: give a whole name, such as shop.example.com.");
  }
  if (isPublicSuffix(name) || [...options.suffixes].some((suffix) => isAtOrUnder(suffix, name))) {
    throw new InvalidHostIdentifier(
      "The identifier is a suffix that others have their names under: give a name under it.",
    );
  }
  return name;
}

/** By the list of tldts, including private suffixes such as those of hosting companies. */
function isPublicSuffix(name: string): boolean {
  return getPublicSuffix(name, { allowPrivateDomains: true }) === name;
}

/** Leaves room for "_deedhouse." before it, where control over the name is proven. */
const hostNameCharsMax = 242;

/**
 * Reads a public host name for a site: two labels or more, under the same rules as an identifier.
 * @returns the name in canonical form
 * @throws InvalidHostIdentifier
 */
export function parsePublicHostName(text: string, options: { reservedHosts: Iterable<string> }): string {
  const name = parseHost(text, { ...options, called: "host name", charsMax: hostNameCharsMax });
  if (!name.includes(".")) {
    throw new InvalidHostIdentifier("The host name has one label only: give it in full, such as www.example.com.");
  }
  return name;
}

interface HostOptions {
  reservedHosts: Iterable<string>;
  /** The word for it in messages. */
  called: string;
  charsMax: number;
}

function parseHost(text: string, { reservedHosts, called, charsMax }: HostOptions): string {
  const result = canonicalHostName(text);
  if ("problem" in result) throw new InvalidHostIdentifier(`The ${called} ${result.problem}.`);
  const problem = reservation(result.name, reservedHosts) ?? lookAlike(result.name);
  if (problem !== undefined) throw new InvalidHostIdentifier(`The ${called} ${problem}.`);
  if (result.name.length > charsMax) {
    throw new InvalidHostIdentifier(`The ${called} is too long: at most ${charsMax} characters.`);
  }
  return result.name;
}

function reservation(name: string, reservedHosts: Iterable<string>): string | undefined {
  if (reservedLabels.has(name.replace(/[0-9]+$/u, ""))) return "is reserved: choose another";
  for (const domain of specialUseDomains) {
    if (isAtOrUnder(name, domain)) return `is under "${domain}", which is never public: choose another`;
  }
  for (const host of reservedHosts) {
    if (isAtOrUnder(name, host)) return "is one of this service's own names: choose another";
  }
  return undefined;
}

function isAtOrUnder(name: string, domain: string): boolean {
  return name === domain || name.endsWith(`.${domain}`);
}

/** Why a label could pass for another identifier; a label in ASCII never does. */
function lookAlike(name: string): string | undefined {
  const labels = name.split(".");
  // Under a suffix in the same script, a word such as "оса" is not mistaken for Latin letters.
  const localSuffix = labels.length > 1 && isEncoded(labels.at(-1) ?? "");
  for (const label of labels.filter(isEncoded)) {
    const shown = displayHostName(label);
    if (!writingSystems.some((system) => system.test(shown))) {
      return "mixes scripts in one label, or has a script that is not in everyday use: write each label in one script";
    }
    if (!localSuffix && latinLookAlikes.test(shown)) return "only looks like Latin letters: type those instead";
  }
  return undefined;
}

function isEncoded(label: string): boolean {
  return label.startsWith("xn--");
}
