import { createHmac, hash, timingSafeEqual } from "node:crypto";

// The HMAC scheme of the API's clients. The string to sign has no separators:
//
//   key id · method · URL-encoded path and query · unix seconds · nonce · base64(MD5(body)), nothing for an empty body
//
// so the grammars below keep its fields apart: the key has a fixed length, the encoded target begins with "%2F" (a method has
// no "%"), the timestamp has ten digits, and a nonce cannot contain the "==" that ends every base64 MD5. The grammars alone
// cannot distinguish digits at the end of a target from the timestamp, or the timestamp from digits at the start of a nonce.
// There, the ten digits that result usually lie outside the time window. For the nonces where they do not (a nonce that begins
// with the time of day), `otherReadings` lists what must be remembered as used.
//
// Clients disagree on how to URL-encode, so a request is accepted when any of the encodings in use was signed.

const nonceCharsMax = 128;
/** The parts of the header after the scheme, in their order: the form of each, and what it must be, for people. */
const headerParts = [
  { name: "api key", form: "[0-9a-f]{32}", wanted: "must have 32 hexadecimal digits in lower case" },
  { name: "signature", form: "[!-9;-~]+", wanted: "must be the base64 of 32 bytes" },
  {
    name: "nonce",
    form: `[A-Za-z0-9._-]{1,${nonceCharsMax}}`,
    wanted: `must have 1 to ${nonceCharsMax} characters of A-Z a-z 0-9 . _ -`,
  },
  {
    name: "timestamp",
    form: "[1-9][0-9]{9}",
    wanted: "must be the time in unix seconds: ten digits. Milliseconds have thirteen",
  },
] as const;
/** The scheme name is case-insensitive (RFC 9110 section 11.1), the key is not. */
const schemeForm = /^[Hh][Mm][Aa][Cc] /;
const authorizationForm = new RegExp(`${schemeForm.source}${headerParts.map(({ form }) => `(${form})`).join(":")}$`);
/** The base64 text of 32 bytes; the last character carries four bits, so only 16 characters can stand there. */
const signatureForm = /^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/;
/** The scheme and authority of an absolute-form request target (RFC 9112 section 3.2.2). */
const absoluteFormStart = /^https?:\/\/[^/?#]*/i;

/** The contents of an Authorization header. `timestamp` is in unix seconds. */
export interface Authorization {
  keyId: string;
  signature: string;
  nonce: string;
  timestamp: number;
}

/**
 * Reads `hmac {key id}:{signature}:{nonce}:{timestamp}`. The signature may be any visible text here: text that is not
 * the base64 of 32 bytes is a wrong signature, not a malformed header.
 * @returns undefined when the header is missing or malformed
 */
export function parseAuthorization(header: string | undefined): Authorization | undefined {
  const match = authorizationForm.exec(header ?? "");
  if (!match) return undefined;
  const [, keyId = "", signature = "", nonce = "", timestamp = ""] = match;
  return { keyId, signature, nonce, timestamp: Number(timestamp) };
}

/** A header without which a request is refused, and what to do about it. */
export interface HeaderMistake {
  /** In lower case. */
  header: string;
  problem: string;
}

/** Why `parseAuthorization` cannot read the header; undefined when it can. Never repeats the header. */
export function findAuthorizationMistake(header: string): HeaderMistake | undefined {
  if (parseAuthorization(header)) return undefined;
  const mistake = (problem: string): HeaderMistake => ({ header: "authorization", problem });
  if (!schemeForm.test(header)) return mistake('It must begin with the word "hmac" and one space.');
  const parts = header.replace(schemeForm, "").split(":");
  if (parts.length !== headerParts.length) {
    const names = headerParts.map(({ name }) => `{${name}}`).join(":");
    return mistake(
      `After "hmac " it must have four parts with a colon between them, ${names}; it has ${parts.length}.`,
    );
  }
  const index = headerParts.findIndex(({ form }, at) => !new RegExp(`^${form}$`).test(parts[at]!));
  const { name, wanted } = headerParts[index]!;
  return mistake(`Its part ${index + 1}, the ${name}, ${wanted}; it has ${parts[index]!.length} characters.`);
}

/** Whether the text can be a signature at all: the base64 of 32 bytes. */
export function isSignatureForm(text: string): boolean {
  return signatureForm.test(text);
}

/**
 * The path and query of a request target: what is signed and routed.
 * @param target the request target as received, in origin form or absolute form
 * @returns undefined for the other forms (`*`, `host:port`)
 */
export function parseTarget(target: string): string | undefined {
  const rest = target.replace(absoluteFormStart, "");
  if (rest.startsWith("/")) return rest;
  if (rest === target) return undefined;
  return `/${rest}`;
}

/** A request as received, with the contents of its Authorization header. */
export interface SignedRequest {
  method: string;
  /** The exact request-target with its version prefix. ASCII: Node's parser refuses every other byte in it. */
  target: string;
  body: Buffer;
  authorization: Authorization;
}

/**
 * Whether the request was signed with `secret`, in any of the encodings in use. A plain lower-case path costs one HMAC;
 * a miss costs one for each different string (at most 32, for a DELETE with unusual characters).
 * @param secret the API secret: its characters are the HMAC key, as UTF-8
 */
export function verifySignature(request: SignedRequest & { secret: string }): boolean {
  return findSignedString(request) !== undefined;
}

/** The one of `stringsToSign` that was signed with `secret`. */
export function findSignedString(request: SignedRequest & { secret: string }): string | undefined {
  const { secret, authorization } = request;
  if (!isSignatureForm(authorization.signature)) return undefined;
  const given = Buffer.from(authorization.signature);
  for (const text of stringsToSign(request)) {
    const expected = Buffer.from(createHmac("sha256", secret).update(text).digest("base64"));
    if (timingSafeEqual(expected, given)) return text;
  }
  return undefined;
}

/** As long as a real secret. A request signed with it is still refused. */
const unknownKeySecret = "0".repeat(64);

/** Refuses a request whose key is unknown, revoked or expired, in the same time as a wrong signature. */
export function verifyUnknownKey(request: SignedRequest): false {
  verifySignature({ ...request, secret: unknownKeySecret });
  return false;
}

/** Another nonce and timestamp under which the same signature could be presented, for a request to another target. */
export interface Reading {
  nonce: string;
  timestamp: number;
}

/**
 * The same signed string cut elsewhere. Almost always empty, because ten digits elsewhere in the string must be a time
 * inside the window. A nonce like `1790000001123.word` or a name like `test-1790000001.be` has such a reading. Both are
 * legitimate, so the request is served, and the nonces of its other readings become used with it.
 * @param nowSeconds unix time; @param windowSeconds how far a timestamp may be from it
 */
export function otherReadings(
  { target, authorization }: SignedRequest,
  { nowSeconds, windowSeconds }: { nowSeconds: number; windowSeconds: number },
): Reading[] {
  const path = parseTarget(target);
  if (path === undefined) return [];
  const own = `${authorization.timestamp}${authorization.nonce}`;
  if (!mayHoldAnotherTime(path, own, nowSeconds - windowSeconds, nowSeconds + windowSeconds)) return [];
  const readings = new Map<string, Reading>();
  for (const form of targetForms(path)) {
    // Characters that a nonce cannot contain cannot move from the target into it.
    const tail = /[A-Za-z0-9._-]*$/.exec(form.slice(-nonceCharsMax))?.[0] ?? "";
    for (const match of `${tail}${own}`.matchAll(/(?=([1-9][0-9]{9})([A-Za-z0-9._-]{1,128})$)/g)) {
      const [, digits = "", nonce = ""] = match;
      const timestamp = Number(digits);
      if (match.index === tail.length || Math.abs(timestamp - nowSeconds) > windowSeconds) continue;
      readings.set(nonce, { nonce, timestamp });
    }
  }
  return [...readings.values()];
}

/**
 * Whether a time of the window may stand anywhere except in the timestamp: all of them begin with the same digits. Almost
 * no request has one, and a closer look costs 4 µs.
 */
function mayHoldAnotherTime(path: string, own: string, earliest: number, latest: number): boolean {
  if (path.includes("%")) return true;
  const start = sharedStart(String(earliest), String(latest));
  const text = path + own;
  return text.indexOf(start) !== path.length || text.includes(start, path.length + 1);
}

function sharedStart(one: string, other: string): string {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length++;
  return one.slice(0, length);
}

/**
 * Every string that a client may have signed for this request, the most common first, without repeats, made on demand.
 */
export function* stringsToSign({ method, target, body, authorization }: SignedRequest): Generator<string> {
  const path = parseTarget(target);
  if (path === undefined) return;
  const { keyId, timestamp, nonce } = authorization;
  const end = `${timestamp}${nonce}${bodyDigest(body)}`;
  for (const form of targetForms(path)) {
    for (const encoded of encodings(form)) {
      for (const word of methodWords(method)) yield `${keyId}${word}${encoded}${end}`;
    }
  }
}

/** What a string to sign says about the body. */
export function bodyDigest(body: Buffer): string {
  return body.length === 0 ? "" : hash("md5", body, "base64");
}

function methodWords(method: string): string[] {
  return method === "DELETE" ? ["delete", "del"] : [method.toLowerCase()];
}

/** The target as a client has it before encoding; each character is one byte. Without repeats. */
function* targetForms(target: string): Generator<string> {
  yield target;
  const inLowerCase = lowerCaseAscii(target);
  if (inLowerCase !== target) yield inLowerCase;
  const decoded = decodeTarget(target);
  if (decoded === undefined || decoded === target) return;
  yield decoded;
  const decodedInLowerCase = lowerCaseAscii(decoded);
  if (decodedInLowerCase !== decoded) yield decodedInLowerCase;
}

export function lowerCaseAscii(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

const anEscape = /%[0-9A-Fa-f]{2}/;
/** The escapes of / ? & = # % + and backslash, and of control characters: decoding them would make another request. */
const hiddenStructure = /%(?:[01][0-9A-Fa-f]|2[356BbFf]|3[DdFf]|5[Cc]|7[Ff])/;

/**
 * The target with its escapes decoded.
 * @returns undefined when an escape hides a character with a meaning, or decoding yields a new escape ("%%335"): two
 * different requests would then have one signature
 */
function decodeTarget(target: string): string | undefined {
  if (hiddenStructure.test(target)) return undefined;
  const decoded = decodeEscapes(target);
  return anEscape.test(decoded) ? undefined : decoded;
}

/** Decodes `%XX` and `+`; each character of the result is one byte. A malformed escape stays as it is. */
export function decodeEscapes(text: string): string {
  return text.replace(/\+|%([0-9A-Fa-f]{2})/g, (_escape, hex: string | undefined) =>
    hex === undefined ? " " : String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

/** How one encoder writes each byte: letters, digits and `unreserved` unchanged, all others as `%XX` in upper case. */
function encodingTable(unreserved: string, space: "+" | "%20"): Buffer[] {
  return Array.from({ length: 256 }, (_, byte) => {
    const character = String.fromCharCode(byte);
    if (character === " ") return Buffer.from(space);
    if (/[A-Za-z0-9]/.test(character) || unreserved.includes(character)) return Buffer.from(character);
    return Buffer.from(`%${byte.toString(16).toUpperCase().padStart(2, "0")}`);
  });
}

const usualTable = encodingTable("-_.", "+"); // PHP urlencode
const otherTables = [
  encodingTable("-_.~", "%20"), // RFC 3986 section 2.3
  encodingTable("-_.!~*'()", "%20"), // encodeURIComponent
  encodingTable("!*()-_.", "+"), // .NET UrlEncode
];
/** The encoders agree on all other characters. */
const disputedCharacters = [..." !'()*~"];

/**
 * The form in each of the URL-encodings, without repeats. Encoded text decodes in one way only, so two forms never
 * share an encoding, and two encoders agree on a form only if it has no disputed character.
 */
function* encodings(form: string): Generator<string> {
  yield encode(form, usualTable);
  const disputed = disputedCharacters.filter((character) => form.includes(character));
  if (disputed.length === 0) return;
  const writtenBy = (table: Buffer[]) => disputed.map((character) => table[character.charCodeAt(0)]).join(" ");
  const seen = new Set([writtenBy(usualTable)]);
  for (const table of otherTables) {
    const written = writtenBy(table);
    if (seen.has(written)) continue;
    seen.add(written);
    yield encode(form, table);
  }
}

/** Writes into one buffer: appending characters to a string costs four times as much for 8 KiB (measured). */
function encode(form: string, table: readonly Buffer[]): string {
  const encoded = Buffer.allocUnsafe(form.length * 3);
  let length = 0;
  for (let index = 0; index < form.length; index++) {
    const bytes = table[form.charCodeAt(index)]!;
    encoded[length++] = bytes[0]!;
    if (bytes.length === 1) continue;
    encoded[length++] = bytes[1]!;
    encoded[length++] = bytes[2]!;
  }
  return encoded.toString("latin1", 0, length);
}
