/**
 * Signs a node's requests, and verifies them: Ed25519 (RFC 8032) over method, path, node, counter and the body's digest. A
 * node's counter increases with each request on a path, so a request cannot be replayed.
 */
import { createHash, createPublicKey, type KeyObject, sign, verify } from "node:crypto";

export const nodeHeader = "deedhouse-node";
export const counterHeader = "deedhouse-counter";
/** SHA-256 of the body, hexadecimal, so that the sender can be authenticated before the body is read. */
export const digestHeader = "deedhouse-digest";
/** The signature of a request, or of the state document in an answer: base64url. */
export const signatureHeader = "deedhouse-signature";

/** Domain separation: nothing else that this key signs begins like this. */
const requestPrefix = "deedhouse node request v1";

export interface NodeRequest {
  method: string;
  path: string;
  /** The node's id; empty in the request that joins. */
  node: string;
  /** Integer, higher than in all earlier requests on this path. */
  counter: number;
  digest: string;
}

export const bodyDigest = (body: Uint8Array) => createHash("sha256").update(body).digest("hex");

function signedText({ method, path, node, counter, digest }: NodeRequest): Buffer {
  return Buffer.from([requestPrefix, method, path, node, String(counter), digest].join("\n"));
}

/** The headers that authenticate a POST as the node's. */
export function signedHeaders(
  { path, node, counter }: Pick<NodeRequest, "path" | "node" | "counter">,
  body: Uint8Array,
  privateKey: KeyObject,
): Record<string, string> {
  const digest = bodyDigest(body);
  const signature = sign(null, signedText({ method: "POST", path, node, counter, digest }), privateKey);
  return {
    [nodeHeader]: node,
    [counterHeader]: String(counter),
    [digestHeader]: digest,
    [signatureHeader]: signature.toString("base64url"),
  };
}

export function isRequestSigned(request: NodeRequest, signature: string, publicKey: KeyObject): boolean {
  return verify(null, signedText(request), publicKey, Buffer.from(signature, "base64url"));
}

/** A public key's DER (SubjectPublicKeyInfo) in base64url, the form of keys in messages and files. */
export function publicKeyText(key: KeyObject): string {
  return key.export({ type: "spki", format: "der" }).toString("base64url");
}

/** @throws Error when it is not an Ed25519 key */
export function parsePublicKey(text: string): KeyObject {
  const key = createPublicKey({ key: Buffer.from(text, "base64url"), type: "spki", format: "der" });
  if (key.asymmetricKeyType !== "ed25519") throw new Error("the key is not an Ed25519 key");
  return key;
}
