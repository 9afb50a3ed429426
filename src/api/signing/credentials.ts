/**
 * One interface for the two ways of signing a request: who claims to have signed it, when, and whether that is true.
 */
import {
  findSignedBase,
  type MessageSignature,
  parseMessageSignature,
  type SigningHeaders,
  verifyMessageOfUnknownKey,
  verifyMessageSignature,
} from "#api/signing/message-signature.ts";
import {
  findSignedString,
  otherReadings,
  parseAuthorization,
  type Reading,
  verifySignature,
  verifyUnknownKey,
} from "#api/signing/signature.ts";

/** What a client has sent. */
export interface SentRequest {
  method: string;
  /** Path and query exactly as in the request target. */
  target: string;
  /** By lower-case name, the lines of one field joined by commas. */
  headers: Readonly<Record<string, string | undefined>>;
  body: Buffer;
}

/** A request as received. */
export interface WireRequest extends SentRequest {
  sourceAddress: string;
}

/** What a request claims about its signer; `verify` proves it. */
export interface Credentials {
  keyId: string;
  nonce: string;
  /** Unix seconds, as is `expires`. */
  timestamp: number;
  expires: number | undefined;
  verify(secret: string): boolean;
  /** The text that was signed with this secret; undefined when `verify` is false. */
  findSignedText(secret: string): string | undefined;
  /** Costs as much as verifying a wrong signature. */
  verifyUnknownKey(): false;
  /** Other nonces under which the same signature could be presented; they become used with this one. */
  otherReadings(now: { nowSeconds: number; windowSeconds: number }): Reading[];
}

/**
 * The credentials from the Authorization header, or else from Signature-Input; undefined when they are missing or
 * malformed.
 */
export function readCredentials(request: SentRequest): Credentials | undefined {
  const { authorization } = request.headers;
  return authorization === undefined ? fromMessageSignature(request) : fromAuthorization(request, authorization);
}

function fromAuthorization(request: SentRequest, header: string): Credentials | undefined {
  const authorization = parseAuthorization(header);
  if (!authorization) return undefined;
  const { method, target, body } = request;
  const signed = { method, target, body, authorization };
  const { keyId, nonce, timestamp } = authorization;
  return {
    keyId,
    nonce,
    timestamp,
    expires: undefined,
    verify: (secret) => verifySignature({ ...signed, secret }),
    findSignedText: (secret) => findSignedString({ ...signed, secret }),
    verifyUnknownKey: () => verifyUnknownKey(signed),
    otherReadings: (now) => otherReadings(signed, now),
  };
}

/** The headers of a message signature. */
export function signingHeadersOf(headers: SentRequest["headers"]): SigningHeaders {
  return {
    signatureInput: headers["signature-input"],
    signature: headers.signature,
    contentDigest: headers["content-digest"],
  };
}

function fromMessageSignature(request: SentRequest): Credentials | undefined {
  const { headers, method, target, body } = request;
  const signature: MessageSignature | undefined = parseMessageSignature(signingHeadersOf(headers));
  if (!signature) return undefined;
  const signed = { method, target, body, headers, authority: headers.host, signature };
  const { keyId, nonce, timestamp, expires } = signature;
  return {
    keyId,
    nonce,
    timestamp,
    expires,
    verify: (secret) => verifyMessageSignature({ ...signed, secret }),
    findSignedText: (secret) => findSignedBase({ ...signed, secret }),
    verifyUnknownKey: () => verifyMessageOfUnknownKey(signed),
    otherReadings: () => [],
  };
}
