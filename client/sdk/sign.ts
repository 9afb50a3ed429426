import { createHash, createHmac, randomBytes } from "node:crypto";

const nonceBytes = 16;
const idempotencyKeyBytes = 16;

/** What one signature covers. */
export interface SignInput {
  /** 32 lower-case hex digits. */
  apiKey: string;
  /** As it was handed out: its characters are the HMAC key, never decoded from hex or base64. */
  apiSecret: string;
  method: string;
  /** Path and query exactly as they go on the wire, version prefix included: `/v1/domains?take=10`. */
  target: string;
  /** The raw bytes sent; empty for a request without a body. */
  body: Uint8Array;
  /** Used once; see `newNonce`. */
  nonce: string;
  timestampSeconds: number;
}

/**
 * The string a signature is made over: key, method, encoded target, timestamp, nonce and body hash, with nothing between.
 * The target is URL-encoded once more as one string (`/` becomes `%2F`), because that is what the scheme's clients do.
 */
export function stringToSign(input: SignInput): string {
  return [
    input.apiKey,
    input.method.toLowerCase(),
    encodeURIComponent(input.target),
    input.timestampSeconds,
    input.nonce,
    bodyDigest(input.body),
  ].join("");
}

/** The value of the `Authorization` header: `hmac key:signature:nonce:timestamp`. */
export function authorizationHeader(input: SignInput): string {
  const signature = createHmac("sha256", input.apiSecret).update(stringToSign(input), "utf8").digest("base64");
  return `hmac ${input.apiKey}:${signature}:${input.nonce}:${input.timestampSeconds}`;
}

/** A nonce nobody used before: 32 hex digits from the system's randomness. */
export function newNonce(): string {
  return randomBytes(nonceBytes).toString("hex");
}

/** A value for `Idempotency-Key`: the same key twice is the same order, never a second one. */
export function newIdempotencyKey(): string {
  return randomBytes(idempotencyKeyBytes).toString("hex");
}

// MD5 is fixed by the scheme; it only binds the body to the HMAC-SHA256 signature.
function bodyDigest(body: Uint8Array): string {
  return body.length === 0 ? "" : createHash("md5").update(body).digest("base64");
}
