import { createHmac, hash, timingSafeEqual } from "node:crypto";
import { type HeaderMistake, parseTarget } from "#api/signing/signature.ts";

// HTTP Message Signatures (RFC 9421) with hmac-sha256, beside the scheme of signature.ts.
//
// The signed text has one line for each covered component, then the signature's own parameters. Method, path, query and
// the digest of a body must be covered, so that a signature is valid for one request only. Only components that can be
// rebuilt byte for byte from the received request are accepted: plain header fields and the derived components below.
// The scheme, and with it "@target-uri", is unknown here when a proxy ends TLS; "@request-target" would be a second way
// to say path and query; no client needs component parameters ("sf", "bs", "key", "req", "tr").
//
// This text begins with a quotation mark, a string of signature.ts with a hexadecimal digit. So although both schemes
// use one secret, a signature of one cannot be presented in the other. Both share a key's nonces.

const requiredComponents = ["@method", "@path", "@query"];
const derivedComponents = new Set([...requiredComponents, "@authority"]);

/**
 * The parameters that a signature may have, and the form of their values. An unknown parameter might restrict its use.
 */
const parameterForms = new Map([
  ["keyid", { form: /^"([0-9a-f]{32})"$/, wanted: "32 hexadecimal digits in lower case, in quotation marks" }],
  [
    "nonce",
    { form: /^"([A-Za-z0-9._-]{1,128})"$/, wanted: "1 to 128 characters of A-Z a-z 0-9 . _ -, in quotation marks" },
  ],
  ["created", { form: /^([1-9][0-9]{9})$/, wanted: "the time in unix seconds, without quotation marks" }],
  ["expires", { form: /^([1-9][0-9]{9})$/, wanted: "a time in unix seconds, without quotation marks" }],
  ["alg", { form: /^"(hmac-sha256)"$/, wanted: '"hmac-sha256"' }],
  ["tag", { form: /^"(.*)"$/, wanted: "a text in quotation marks" }],
]);
const requiredParameters = ["keyid", "nonce", "created"] as const;

/** The algorithms of RFC 9530 section 5 that are not deprecated, with their names in node:crypto. */
const digestAlgorithms = new Map([
  ["sha-256", "sha256"],
  ["sha-512", "sha512"],
]);

// The forms of structured fields (RFC 9651) that these headers can have: a dictionary key, a string, a byte sequence.
const keyForm = "[a-z*][a-z0-9_.*-]*";
const stringForm = '"(?:[ !#-\\[\\]-~]|\\\\["\\\\])*"';
const bytesForm = ":([A-Za-z0-9+/]+={0,2}):";
/** A lower-case field name (RFC 9421 section 2.1) or the name of a derived component. */
const componentForm = '"@?[!#$%&\'*+.^_`|~0-9a-z-]+"';
const parameterForm = `; *[a-z]+=(?:[0-9]+|${stringForm})`;
const signatureInputForm = new RegExp(
  `^ *(${keyForm})=\\(((?: *${componentForm}(?=[ )]))*) *\\)((?:${parameterForm})*) *$`,
);
const signatureForm = new RegExp(`^ *(${keyForm})=${bytesForm} *$`);
const digestForm = new RegExp(`^(${keyForm})=${bytesForm}$`);
/** What a line of the signature base may contain: ASCII without line breaks (RFC 9421 section 2.5). */
const lineForm = /^[\t -~]*$/;

/** The contents of the three headers. Times are in unix seconds. */
export interface MessageSignature {
  keyId: string;
  nonce: string;
  /** The parameter `created`. */
  timestamp: number;
  /** The last second in which the signature is valid; the caller checks it against its clock. */
  expires: number | undefined;
  signature: Buffer;
  /** The names of the covered components, in the order in which they were signed. */
  components: string[];
  /** The signed value of "@signature-params": components and parameters in canonical form. */
  params: string;
  /** The Content-Digest, if it is covered. */
  contentDigest: ContentDigest | undefined;
}

export interface ContentDigest {
  /** The header as it was signed. */
  text: string;
  /** `name` is that of the header, `algorithm` that of node:crypto. */
  digests: { name: string; algorithm: string; digest: Buffer }[];
}

/** The headers that sign a request. */
export interface SigningHeaders {
  signatureInput?: string | undefined;
  signature?: string | undefined;
  contentDigest?: string | undefined;
}

/**
 * Reads the headers of a request that has no Authorization header: one signature, under any label, with the parameters
 * `keyid`, `nonce` and `created` in the same forms as in the other scheme. `expires`, `alg` (hmac-sha256) and `tag` may
 * follow.
 * @returns undefined when a header is missing or malformed, or a required component is not covered
 */
export function parseMessageSignature(headers: SigningHeaders): MessageSignature | undefined {
  const read = readMessageSignature(headers);
  return "problem" in read ? undefined : read;
}

/** As `parseMessageSignature`, but says why the headers cannot be read. Never repeats the signature. */
export function readMessageSignature(headers: SigningHeaders): MessageSignature | HeaderMistake {
  const [input, label, list = "", parameterList = ""] = signatureInputForm.exec(headers.signatureInput ?? "") ?? [];
  if (input === undefined)
    return inputMistake('It must be one signature: label=("@method" "@path" "@query");name=value;…');
  const [, signatureLabel, encoded = ""] = signatureForm.exec(headers.signature ?? "") ?? [];
  const signature = decodeBase64(encoded);
  if (!signature) return { header: "signature", problem: "It must be one signature: label=:base64:" };
  if (label !== signatureLabel) return { header: "signature", problem: "Its label is not the one of Signature-Input." };

  const components: string[] = list.match(/[^ "]+/g) ?? [];
  const parameters = parseParameters(parameterList);
  const mistake = findComponentMistake(components);
  if (mistake !== undefined) return inputMistake(mistake);
  if ("mistake" in parameters) return inputMistake(parameters.mistake);
  const missing = requiredParameters.find((name) => parameters.values[name] === undefined);
  if (missing !== undefined) return inputMistake(`The parameter ${missing} is missing.`);
  const { keyid: keyId = "", nonce = "", created, expires } = parameters.values;

  const contentDigest = components.includes("content-digest") ? parseContentDigest(headers.contentDigest) : undefined;
  if (components.includes("content-digest") && !contentDigest) {
    return {
      header: "content-digest",
      problem: "It is covered, so it must have a digest: sha-256=:base64: or sha-512=:base64:",
    };
  }
  return {
    keyId,
    nonce,
    timestamp: Number(created),
    expires: expires === undefined ? undefined : Number(expires),
    signature,
    components,
    params: `(${components.map((name) => `"${name}"`).join(" ")})${parameters.canonical}`,
    contentDigest,
  };
}

const inputMistake = (problem: string): HeaderMistake => ({ header: "signature-input", problem });

/** Every component must be one that can be rebuilt, none may occur twice (RFC 9421 section 2), no required one may be missing. */
function findComponentMistake(components: string[]): string | undefined {
  if (new Set(components).size !== components.length) return "It covers a component twice.";
  const unknown = components.find((name) => name.startsWith("@") && !derivedComponents.has(name));
  if (unknown !== undefined) return `It covers "${unknown}", which the service does not accept.`;
  const missing = requiredComponents.filter((name) => !components.includes(name));
  if (missing.length === 0) return undefined;
  return `It must cover ${requiredComponents.map((name) => `"${name}"`).join(", ")}; ${missing.join(", ")} is missing.`;
}

type Parameters = { values: Record<string, string>; canonical: string };

function parseParameters(list: string): Parameters | { mistake: string } {
  const values = new Map<string, string>();
  let canonical = "";
  for (const [parameter] of list.matchAll(new RegExp(parameterForm, "gy"))) {
    const [name = "", text = ""] = parameter.slice(1).trimStart().split(/=(.*)/s);
    const known = parameterForms.get(name);
    if (!known) return { mistake: `The service does not know the parameter ${name}.` };
    const value = known.form.exec(text)?.[1];
    if (value === undefined) return { mistake: `The parameter ${name} must be ${known.wanted}.` };
    if (values.has(name)) return { mistake: `It has the parameter ${name} twice.` };
    values.set(name, value);
    canonical += `;${name}=${text}`;
  }
  return { values: Object.fromEntries(values), canonical };
}

/**
 * Reads a Content-Digest header (RFC 9530 section 2): all of its sha-256 and sha-512 digests, at least one; it ignores
 * other algorithms.
 */
function parseContentDigest(text = ""): ContentDigest | undefined {
  const digests = new Map<string, Buffer>();
  for (const member of text.split(",")) {
    const [, name = "", encoded = ""] = digestForm.exec(member.trim()) ?? [];
    const digest = decodeBase64(encoded);
    if (!digest || digests.has(name)) return undefined;
    digests.set(name, digest);
  }
  const known = [...digestAlgorithms].flatMap(([name, algorithm]) => {
    const digest = digests.get(name);
    return digest ? [{ name, algorithm, digest }] : [];
  });
  return known.length === 0 ? undefined : { text, digests: known };
}

/** @returns undefined when the text is empty or not the canonical base64 of its bytes */
function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64");
  return text !== "" && bytes.toString("base64") === text ? bytes : undefined;
}

/** A request as it was received. */
export interface ReceivedMessage {
  method: string;
  /** The exact request-target with its version prefix, as in `SignedRequest`. */
  target: string;
  /** The Host header. */
  authority: string | undefined;
  /**
   * By lower-case name, without surrounding white space, the lines of one field joined by commas: as Node provides
   * them.
   */
  headers: Readonly<Record<string, string | string[] | undefined>>;
}

export interface SignedMessage extends ReceivedMessage {
  body: Buffer;
  signature: MessageSignature;
}

/**
 * Whether the request was signed with `secret` and its body has the digest that was signed. Costs one digest of the
 * body for each algorithm used, and one HMAC.
 * @param secret the API secret: its characters are the HMAC key, as UTF-8
 */
export function verifyMessageSignature(message: SignedMessage & { secret: string }): boolean {
  return findSignedBase(message) !== undefined;
}

/** The `signatureBase`, if it was signed with `secret` and covers the body. */
export function findSignedBase(message: SignedMessage & { secret: string }): string | undefined {
  const { secret, body, signature } = message;
  if (findBodyMistake(signature, body)) return undefined;
  const base = signatureBase(message, signature);
  if (base === undefined) return undefined;
  const expected = createHmac("sha256", secret).update(base).digest();
  if (signature.signature.length !== expected.length) return undefined;
  return timingSafeEqual(expected, signature.signature) ? base : undefined;
}

/** As long as a real secret. A request signed with it is still refused. */
const unknownKeySecret = "0".repeat(64);

/** Refuses a request whose key is unknown, revoked or expired, in the same time as a wrong signature. */
export function verifyMessageOfUnknownKey(message: SignedMessage): false {
  verifyMessageSignature({ ...message, secret: unknownKeySecret });
  return false;
}

/** Why the signature does not cover this body; undefined when it covers it. */
export function findBodyMistake({ contentDigest }: MessageSignature, body: Buffer): HeaderMistake | undefined {
  if (!contentDigest) {
    if (body.length === 0) return undefined;
    return inputMistake('The request has a body, so the signature must cover "content-digest".');
  }
  const wrong = contentDigest.digests.find(({ algorithm, digest }) => !hash(algorithm, body, "buffer").equals(digest));
  if (!wrong) return undefined;
  const problem = `Its ${wrong.name} is not that of the body. Compute it from the bytes that you send.`;
  return { header: "content-digest", problem };
}

/**
 * The text that is signed (RFC 9421 section 2.5).
 * @returns undefined when a covered component is missing from the request or cannot be represented
 */
export function signatureBase(message: ReceivedMessage, signature: SignedComponents): string | undefined {
  const lines: string[] = [];
  for (const name of signature.components) {
    const line = componentLine(name, message, signature);
    if (line === undefined) return undefined;
    lines.push(line);
  }
  return [...lines, `"@signature-params": ${signature.params}`].join("\n");
}

type SignedComponents = Pick<MessageSignature, "components" | "params" | "contentDigest">;

/** The first covered component of which `signatureBase` cannot make a line. */
export function findUnsignable(message: ReceivedMessage, signature: SignedComponents): string | undefined {
  return signature.components.find((name) => componentLine(name, message, signature) === undefined);
}

function componentLine(
  name: string,
  message: ReceivedMessage,
  { contentDigest }: SignedComponents,
): string | undefined {
  // Sign the very digest that was compared with the body.
  const value = name === "content-digest" ? contentDigest?.text : componentValue(name, message);
  return value === undefined || !lineForm.test(value) ? undefined : `"${name}": ${value}`;
}

function componentValue(name: string, { method, target, authority, headers }: ReceivedMessage): string | undefined {
  if (name === "@method") return method;
  if (name === "@path") return parseTarget(target)?.replace(/\?.*$/s, "");
  // RFC 9421 section 2.2.7: a missing query is "?" as well, so "/domains" and "/domains?" are the same request.
  if (name === "@query") return parseTarget(target)?.replace(/^[^?]*\??/, "?");
  // Without the default port of either scheme (RFC 9421 section 2.2.3).
  if (name === "@authority") return authority?.toLowerCase().replace(/:(?:80|443)$/, "");
  const value = headers[name];
  return typeof value === "string" ? value : undefined;
}
