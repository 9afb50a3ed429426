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

const bundledList = new URL("./common-passwords.txt", import.meta.url);
/** What people add to a word when a rule asks for more. */
const commonEndings = ["1", "2", "11", "12", "22", "69", "99", "01", "123", "1234", "12345", "!", "1!", "123!", "2025"];

/** Whether a password is acceptable. The reason completes the sentence "the password …" and says what to do. */
export type PasswordVerdict = { ok: true; password: Secret } | { ok: false; reason: string };

/**
 * The passwords that are refused as too common, in lower case.
 * @param listFile the operator's own list, one password per line; by default the bundled words, alone and with common
 * endings (some 11,000). Read once at startup; throws when the file cannot be read
 */
export function loadCommonPasswords(listFile?: string): ReadonlySet<string> {
  if (listFile !== undefined) return new Set(longEnough(linesOf(listFile)));
  const words = linesOf(bundledList).filter((line) => !line.startsWith("#"));
  return new Set(longEnough(words.flatMap((word) => [word, ...commonEndings.map((ending) => word + ending)])));
}

function linesOf(file: string | URL): string[] {
  return readFileSync(file, "utf8").toLowerCase().split(/\r?\n/);
}

/** Shorter ones are refused for their length already. */
function longEnough(passwords: string[]): string[] {
  return passwords.filter((password) => password.length >= passwordCharsMin);
}

/**
 * Checks a password for a hosting account.
 * @param identifier the account's canonical identifier: the password must contain neither it nor its U-labels
 * @param commonPasswords in lower case, from `loadCommonPasswords`
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
  if (commonPasswords.has(password.toLowerCase())) return "is among the most common: choose a rarer one";
  return undefined;
}

function fold(text: string): string {
  return text.normalize("NFKC").toLowerCase();
}
