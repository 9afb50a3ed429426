import { readFileSync } from "node:fs";
import { displayHostName } from "#lib/idna.ts";
import { Secret } from "#lib/secret.ts";

/** Counted in code points, as a person counts them. */
const passwordCharsMin = 8;
const passwordCharsMax = 64;
/** bcrypt reads 72 octets and ignores the rest: a longer password would be accepted with any other ending. */
const passwordBytesMax = 72;
/** C0, DEL and C1: NUL ends a bcrypt input early, CR and LF end an FTP command. */
const controlCharacter = /\p{Cc}/u;

/** What people add to a word when a rule asks for more: "sunshine123!" is as easy to guess as "sunshine". */
const commonEnding = /[0-9]{0,5}[!.?]?$/;

let loading: Promise<ReadonlySet<string>> | undefined;

/** Whether a password is acceptable. The reason completes the sentence "the password …" and says what to do. */
export type PasswordVerdict = { ok: true; password: Secret } | { ok: false; reason: string };

/**
 * The passwords that are refused as too common, folded: the 49,000 most common leaked ones.
 * @see https://github.com/zxcvbn-ts/zxcvbn, the package's source of the list
 */
export function loadCommonPasswords(): Promise<ReadonlySet<string>> {
  loading ??= import("@zxcvbn-ts/language-common").then(
    ({ dictionary }) => new Set(dictionary["passwords-common"].map(fold)),
  );
  return loading;
}

/** Reads a list that the operator provides, one password per line. @throws when the file cannot be read */
export function readCommonPasswords(listFile: string): ReadonlySet<string> {
  return new Set(readFileSync(listFile, "utf8").split(/\r?\n/).filter(Boolean).map(fold));
}

/**
 * Checks a password for a hosting account.
 * @param identifier the account's canonical identifier: the password must contain neither it nor its U-labels
 * @param commonPasswords folded, from `loadCommonPasswords` or `readCommonPasswords`
 * @returns the password as a secret, or the reason for the refusal, which never repeats it
 */
export function checkFtpPassword(
  password: string,
  identifier: string,
  commonPasswords: ReadonlySet<string>,
): PasswordVerdict {
  const reason = refusal(password, identifier, commonPasswords);
  return reason === undefined ? { ok: true, password: new Secret(password) } : { ok: false, reason };
}

function refusal(password: string, identifier: string, commonPasswords: ReadonlySet<string>): string | undefined {
  const bytes = Buffer.byteLength(password);
  // Check octets first: they limit the work of the other checks.
  const characters = bytes > passwordCharsMax * 4 ? Number.POSITIVE_INFINITY : [...password].length;
  if (characters < passwordCharsMin) return `is too short: use at least ${passwordCharsMin} characters`;
  if (characters > passwordCharsMax) return `is too long: use at most ${passwordCharsMax} characters`;
  if (bytes > passwordBytesMax) return `is too long: use at most ${passwordBytesMax} bytes of UTF-8`;
  if (controlCharacter.test(password)) return "has a control character in it: use letters, digits and signs";
  if (!password.isWellFormed()) return "has half a surrogate pair in it: send it as valid UTF-8";
  const folded = fold(password);
  if (folded.includes(identifier) || folded.includes(fold(displayHostName(identifier)))) {
    return "contains the identifier: choose one that does not";
  }
  if (commonPasswords.has(folded) || commonPasswords.has(folded.replace(commonEnding, ""))) {
    return "is among the most common: choose a rarer one";
  }
  return undefined;
}

function fold(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}
