import { toASCII, toUnicode } from "tr46";

// Two rules apply. UTS #46 (tr46, non-transitional, every check on) maps input (capitals, full-width forms, ideographic dots)
// to one form and encodes it. It permits more than IDNA2008, for example symbols such as ☃. So every code point of the result
// must also be PVALID, or satisfy its contextual rule (RFC 5892). The derived property is computed from Node's Unicode tables.
// "Unstable" (RFC 5892 §2.2) needs no separate check: UTS #46 maps every unstable code point, and tr46 refuses a mapped one
// inside an A-label. A comparison of every code point with Python's idna 3.13, which has the published table of Unicode 17,
// found no difference.

/** A name in text form, without the trailing dot (RFC 1035 §2.3.4 allows 255 octets on the wire). */
const nameCharsMax = 253;
/** RFC 1035 §2.3.4. */
const labelCharsMax = 63;
/** Longer input is refused first: decomposed Unicode is at most four times as long as its A-label. */
const inputCharsMax = 1024;

const ldhLabel = `(?!..--)[a-z0-9](?:[a-z0-9-]{0,${labelCharsMax - 2}}[a-z0-9])?`;
/** Names that are canonical already, as nearly all are: the rules below (7 µs) would not change them. */
const plainName = new RegExp(`^(?!.{${nameCharsMax + 1}})(?:${ldhLabel}\\.)*${ldhLabel}$`);

const checks = { checkHyphens: true, checkBidi: true, checkJoiners: true, useSTD3ASCIIRules: true };
/** What UTS #46 §2.3 treats as a dot. */
const dots = /[.\u3002\uFF0E\uFF61]/u;
const trailingDot = new RegExp(`${dots.source}$`, "u");

const spaceOrControl = /[\p{Cc}\p{White_Space}]/u;
/** UTS #46 drops these silently. We do not: a name must not come from input that reads as another name. */
const invisible = /(?![\u200C\u200D])\p{Default_Ignorable_Code_Point}/u;
/**
 * The last label of an IPv4 address in any notation (URL Standard, "ends in a number"): browsers read it as an address.
 */
const numeric = /^(?:[0-9]+|0x[0-9a-f]*)$/u;

/** LetterDigits and LDH (RFC 5892 §2.1, §2.4), the exceptions of §2.6 that are PVALID, and JoinControl (§2.8). */
const letterDigit = /^[\p{Ll}\p{Lu}\p{Lo}\p{Nd}\p{Lm}\p{Mn}\p{Mc}\-\u06FD\u06FE\u0F0B\u3007\u200C\u200D]$/u;
/** Exceptions that are DISALLOWED (§2.6), IgnorableBlocks (§2.5) and OldHangulJamo (§2.9). */
const disallowed =
  /[\u0640\u07FA\u3031-\u3035\u303B\u1100-\u11FF\uA960-\uA97F\uD7B0-\uD7FF\u{1D100}-\u{1D24F}]|\u302E|\u302F|[\u20D0-\u20FF]/u;

/** RFC 5892 appendix A.3 to A.9; A.1 and A.2 (the joiners) are tr46's `checkJoiners`. */
const contextRules: readonly { character: RegExp; allowedIn: (before: string, after: string) => boolean }[] = [
  { character: /^\u00B7$/u, allowedIn: (before, after) => before.endsWith("l") && after.startsWith("l") },
  { character: /^\u0375$/u, allowedIn: (_before, after) => /^\p{Script=Greek}/u.test(after) },
  { character: /^[\u05F3\u05F4]$/u, allowedIn: (before) => /\p{Script=Hebrew}$/u.test(before) },
  {
    character: /^\u30FB$/u,
    allowedIn: (before, after) => /[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]/u.test(before + after),
  },
  { character: /^[\u0660-\u0669]$/u, allowedIn: (before, after) => !/[\u06F0-\u06F9]/u.test(before + after) },
  { character: /^[\u06F0-\u06F9]$/u, allowedIn: (before, after) => !/[\u0660-\u0669]/u.test(before + after) },
];

/**
 * The canonical form of a host name: lower-case A-labels, no trailing dot (one is accepted and dropped), at least one
 * label, at most 63 characters per label and 253 in all, not an IP address.
 * @returns the name, or a problem that completes the sentence "the name …" and says what to do
 */
export function canonicalHostName(text: string): { name: string } | { problem: string } {
  if (plainName.test(text) && !numeric.test(text.slice(text.lastIndexOf(".") + 1))) return { name: text };
  if (text === "") return { problem: "is empty: give one such as example.com" };
  if (text.length > inputCharsMax) return { problem: `is too long: give at most ${nameCharsMax} characters` };
  if (spaceOrControl.test(text)) return { problem: "has a space or a control character in it: remove it" };
  if (invisible.test(text)) return { problem: "has an invisible character in it: type it again by hand" };

  const rooted = text.replace(trailingDot, "");
  const name = toASCII(rooted, { ...checks, verifyDNSLength: true });
  if (name === null) return { problem: explainRefusal(rooted) };
  const labels = name.split(".");
  const fake = fakeALabel(rooted, labels);
  if (fake !== undefined) return { problem: fake };
  for (const label of labels) {
    const problem = label.startsWith("xn--") ? idna2008Problem(displayHostName(label)) : undefined;
    if (problem !== undefined) return { problem };
  }
  if (numeric.test(labels.at(-1) ?? "")) return { problem: "ends in a number: give a name, not an IP address" };
  return { name };
}

/** The name in U-labels, for people to read; never for comparing. */
export function displayHostName(name: string): string {
  if (!name.includes("xn--")) return name;
  return toUnicode(name, checks).domain;
}

/** Finds out why tr46 refused a text; tr46 itself does not say. */
function explainRefusal(text: string): string {
  const unmeasured = toASCII(text, checks);
  if (unmeasured !== null) {
    if (unmeasured.split(".").includes("")) return "has an empty label: remove the extra dot";
    return `is too long: at most ${labelCharsMax} characters a label and ${nameCharsMax} in all, counted as A-labels`;
  }
  const labels = text.normalize("NFKC").toLowerCase().split(dots);
  for (const label of labels) {
    if (label.startsWith("xn--") && toASCII(label, checks) === null) {
      return "has a label that begins with xn-- but is not a valid A-label: give it in Unicode";
    }
    if (/^-|-$/u.test(label)) return "has a label that begins or ends with a hyphen: remove the hyphen";
    if (/^..--/u.test(label))
      return "has a label with hyphens in its third and fourth place: only A-labels may have them";
    if (/[^a-z0-9-]/u.test(label.replace(/\P{ASCII}/gu, ""))) {
      return "has a character that names cannot contain: use letters, digits and hyphens between the dots";
    }
  }
  return "has letters that IDNA does not allow, or not in this order: use letters, marks and digits of one language";
}

/**
 * An A-label must stay unchanged (RFC 5890 §2.3.2.1). Two punycoded halves of a surrogate pair decode to the same text
 * as the correct encoding, so tr46 alone would accept two spellings of one name.
 */
function fakeALabel(text: string, labels: readonly string[]): string | undefined {
  const given = text.normalize("NFKC").toLowerCase().split(dots);
  const altered = given.some((label, index) => label.startsWith("xn--") && label !== labels[index]);
  return altered
    ? "has a label that begins with xn-- but is not the encoding of any name: give it in Unicode"
    : undefined;
}

/** Why IDNA2008 refuses a U-label that UTS #46 accepts. */
function idna2008Problem(label: string): string | undefined {
  const characters = [...label];
  for (const [index, character] of characters.entries()) {
    const rule = contextRules.find((candidate) => candidate.character.test(character));
    if (rule === undefined) {
      if (letterDigit.test(character) && !disallowed.test(character)) continue;
      return `has the character ${codePointName(character)}, which IDNA2008 does not allow in names: leave it out`;
    }
    if (!rule.allowedIn(characters.slice(0, index).join(""), characters.slice(index + 1).join(""))) {
      return `has the character ${codePointName(character)} where IDNA2008 does not allow it: leave it out`;
    }
  }
  return undefined;
}

/** "U+2603": safe to print for any character. */
function codePointName(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
