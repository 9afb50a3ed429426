/**
 * How a node's requests are signed, so that the gateway knows which node asks: Ed25519 (RFC 8032) over method, path, node,
 * counter and the body's digest. A node's counter only grows on each path, so no request counts twice.
 */
import { createHash, createPublicKey, type KeyObject, sign, verify } from "node:crypto";

export const nodeHeader = "deedhouse-node";
export const counterHeader = "deedhouse-counter";
/** Of a request, and of a state's document in an answer: base64url. */
export const signatureHeader = "deedhouse-signature";

/** Nothing else that this key ever signs begins so. */
const requestPrefix = "deedhouse node request v1";

export interface NodeRequest {
  method: string;
  path: string;
  /** The node's id; empty in the request that joins. */
  node: string;
  /** Whole number above that of each earlier request on this path. */
  counter: number;
  body: Uint8Array;
}

function signedText({ method, path, node, counter, body }: NodeRequest): Buffer {
  const digest = createHash("sha256").update(body).digest("hex");
  return Buffer.from([requestPrefix, method, path, node, String(counter), digest].join("\n"));
}

/** The header's value. */
export function signRequest(request: NodeRequest, privateKey: KeyObject): string {
  return sign(null, signedText(request), privateKey).toString("base64url");
}

export function isRequestSigned(request: NodeRequest, signature: string, publicKey: KeyObject): boolean {
  return verify(null, signedText(request), publicKey, Buffer.from(signature, "base64url"));
}

/** DER of a public key (SubjectPublicKeyInfo) as base64url: how keys stand in messages and files. */
export function publicKeyText(key: KeyObject): string {
  return key.export({ type: "spki", format: "der" }).toString("base64url");
}

/** @throws Error when it is no Ed25519 key */
export function parsePublicKey(text: string): KeyObject {
  const key = createPublicKey({ key: Buffer.from(text, "base64url"), type: "spki", format: "der" });
  if (key.asymmetricKeyType !== "ed25519") throw new Error("the key is not an Ed25519 key");
  return key;
}
