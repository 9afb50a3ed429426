import { createHash, createHmac, randomBytes } from "node:crypto";

const nonceBytes = 16;
const idempotencyKeyBytes = 16;

/** The data that one signature covers. */
export interface SignInput {
  /** 32 lower-case hex digits. */
  apiKey: string;
  /** The secret as issued: its characters are the HMAC key, never decoded from hex or base64. */
  apiSecret: string;
  method: string;
  /** Path and query exactly as sent, including the version prefix: `/v1/domains?take=10`. */
  target: string;
  /** The raw bytes of the body; empty for a request without a body. */
  body: Uint8Array;
  /** Use it once; see `newNonce`. */
  nonce: string;
  timestampSeconds: number;
}

/**
 * The string that is signed: key, method, encoded target, timestamp, nonce and body hash, without separators. The
 * target is URL-encoded once more as one string (`/` becomes `%2F`), because the scheme's clients do this.
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

/** A new nonce: 32 random hex digits. */
export function newNonce(): string {
  return randomBytes(nonceBytes).toString("hex");
}

/** A value for `Idempotency-Key`: a repeat with the same key is the same order, never a second one. */
export function newIdempotencyKey(): string {
  return randomBytes(idempotencyKeyBytes).toString("hex");
}

// The scheme requires MD5; it only binds the body to the HMAC-SHA256 signature.
function bodyDigest(body: Uint8Array): string {
  return body.length === 0 ? "" : createHash("md5").update(body).digest("base64");
}
