import { createHmac, hash, timingSafeEqual } from "node:crypto";
import { parseTarget } from "#api/signing/signature.ts";

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
  ["keyid", /^"([0-9a-f]{32})"$/],
  ["nonce", /^"([A-Za-z0-9._-]{1,128})"$/],
  ["created", /^([1-9][0-9]{9})$/],
  ["expires", /^([1-9][0-9]{9})$/],
  ["alg", /^"(hmac-sha256)"$/],
  ["tag", /^"(.*)"$/],
]);

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
  digests: { algorithm: string; digest: Buffer }[];
}

/**
 * Reads the headers of a request that has no Authorization header: one signature, under any label, with the parameters
 * `keyid`, `nonce` and `created` in the same forms as in the other scheme. `expires`, `alg` (hmac-sha256) and `tag` may
 * follow.
 * @returns undefined when a header is missing or malformed, or a required component is not covered
 */
export function parseMessageSignature(headers: {
  signatureInput?: string | undefined;
  signature?: string | undefined;
  contentDigest?: string | undefined;
}): MessageSignature | undefined {
  const [input, label, list = "", parameterList = ""] = signatureInputForm.exec(headers.signatureInput ?? "") ?? [];
  const [, signatureLabel, encoded = ""] = signatureForm.exec(headers.signature ?? "") ?? [];
  const signature = decodeBase64(encoded);
  if (input === undefined || label !== signatureLabel || !signature) return undefined;

  const components: string[] = list.match(/[^ "]+/g) ?? [];
  const parameters = parseParameters(parameterList);
  if (!areAcceptable(components) || !parameters) return undefined;
  const { keyid: keyId, nonce, created, expires } = parameters.values;
  if (keyId === undefined || nonce === undefined || created === undefined) return undefined;

  const contentDigest = components.includes("content-digest") ? parseContentDigest(headers.contentDigest) : undefined;
  if (components.includes("content-digest") && !contentDigest) return undefined;
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

/** Whether every component can be rebuilt, none occurs twice (RFC 9421 section 2) and no required one is missing. */
function areAcceptable(components: string[]): boolean {
  return (
    new Set(components).size === components.length &&
    components.every((name) => !name.startsWith("@") || derivedComponents.has(name)) &&
    requiredComponents.every((name) => components.includes(name))
  );
}

function parseParameters(list: string): { values: Record<string, string>; canonical: string } | undefined {
  const values = new Map<string, string>();
  let canonical = "";
  for (const [parameter] of list.matchAll(new RegExp(parameterForm, "gy"))) {
    const [name = "", text = ""] = parameter.slice(1).trimStart().split(/=(.*)/s);
    const value = parameterForms.get(name)?.exec(text)?.[1];
    if (value === undefined || values.has(name)) return undefined;
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
    return digest ? [{ algorithm, digest }] : [];
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
  const { secret, body, signature } = message;
  if (!coversBody(signature, body)) return false;
  const base = signatureBase(message, signature);
  if (base === undefined) return false;
  const expected = createHmac("sha256", secret).update(base).digest();
  return signature.signature.length === expected.length && timingSafeEqual(expected, signature.signature);
}

/** As long as a real secret. A request signed with it is still refused. */
const unknownKeySecret = "0".repeat(64);

/** Refuses a request whose key is unknown, revoked or expired, in the same time as a wrong signature. */
export function verifyMessageOfUnknownKey(message: SignedMessage): false {
  verifyMessageSignature({ ...message, secret: unknownKeySecret });
  return false;
}

function coversBody({ contentDigest }: MessageSignature, body: Buffer): boolean {
  if (!contentDigest) return body.length === 0;
  return contentDigest.digests.every(({ algorithm, digest }) => hash(algorithm, body, "buffer").equals(digest));
}

/**
 * The text that is signed (RFC 9421 section 2.5).
 * @returns undefined when a covered component is missing from the request or cannot be represented
 */
export function signatureBase(
  message: ReceivedMessage,
  { components, params, contentDigest }: Pick<MessageSignature, "components" | "params" | "contentDigest">,
): string | undefined {
  const lines: string[] = [];
  for (const name of components) {
    // Sign the very digest that was compared with the body.
    const value = name === "content-digest" ? contentDigest?.text : componentValue(name, message);
    if (value === undefined || !lineForm.test(value)) return undefined;
    lines.push(`"${name}": ${value}`);
  }
  return [...lines, `"@signature-params": ${params}`].join("\n");
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
