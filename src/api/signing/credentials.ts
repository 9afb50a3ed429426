/** The two ways in which a request can be signed, made one: who says to have signed it, when, and whether it is so. */
import {
  type MessageSignature,
  parseMessageSignature,
  verifyMessageOfUnknownKey,
  verifyMessageSignature,
} from "#api/signing/message-signature.ts";
import {
  otherReadings,
  parseAuthorization,
  type Reading,
  verifySignature,
  verifyUnknownKey,
} from "#api/signing/signature.ts";

/** A request as it came over the wire. */
export interface WireRequest {
  method: string;
  /** Path and query exactly as in the request target. */
  target: string;
  /** By lower-case name, the lines of one field joined by commas. */
  headers: Readonly<Record<string, string | undefined>>;
  body: Buffer;
  sourceAddress: string;
}

/** What a request says of its signer; nothing of it is proven before `verify`. */
export interface Credentials {
  keyId: string;
  nonce: string;
  /** Unix seconds, as is `expires`. */
  timestamp: number;
  expires: number | undefined;
  verify(secret: string): boolean;
  /** Costs what a wrong signature costs. */
  verifyUnknownKey(): false;
  /** Other nonces under which the same signature could be presented; they are used up with this one. */
  otherReadings(now: { nowSeconds: number; windowSeconds: number }): Reading[];
}

/** The credentials in the header Authorization, or else in Signature-Input; nothing when they are missing or malformed. */
export function readCredentials(request: WireRequest): Credentials | undefined {
  const { authorization } = request.headers;
  return authorization === undefined ? fromMessageSignature(request) : fromAuthorization(request, authorization);
}

function fromAuthorization(request: WireRequest, header: string): Credentials | undefined {
  const authorization = parseAuthorization(header);
  if (!authorization) return undefined;
  const { method, target, body } = request;
  const signed = { method, target, body, authorization };
  const { keyId, nonce, timestamp } = authorization;
  return {
    ...{ keyId, nonce, timestamp, expires: undefined },
    verify: (secret) => verifySignature({ ...signed, secret }),
    verifyUnknownKey: () => verifyUnknownKey(signed),
    otherReadings: (now) => otherReadings(signed, now),
  };
}

function fromMessageSignature(request: WireRequest): Credentials | undefined {
  const { headers, method, target, body } = request;
  const signature: MessageSignature | undefined = parseMessageSignature({
    signatureInput: headers["signature-input"],
    signature: headers.signature,
    contentDigest: headers["content-digest"],
  });
  if (!signature) return undefined;
  const signed = { method, target, body, headers, authority: headers.host, signature };
  const { keyId, nonce, timestamp, expires } = signature;
  return {
    ...{ keyId, nonce, timestamp, expires },
    verify: (secret) => verifyMessageSignature({ ...signed, secret }),
    verifyUnknownKey: () => verifyMessageOfUnknownKey(signed),
    otherReadings: () => [],
  };
}
