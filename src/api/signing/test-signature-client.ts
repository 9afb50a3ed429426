import { createHash, createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Authorization } from "#api/signing/signature.ts";

// Signs requests as a client does, for the tests beside it.

export interface Vector {
  name: string;
  method: string;
  target: string;
  body: string;
  authorization: string;
}
export const vectors: { key: string; secret: string; valid: Vector[] } = JSON.parse(
  readFileSync(new URL("../../../test/vectors/signing.json", import.meta.url), "utf8"),
);
export const { key: keyId, secret } = vectors;

/** Signs as a client does: `encoded` is the target in the client's own URL-encoding. */
export function sign({
  method = "get",
  encoded,
  body = "",
  nonce = "5f0c3a1b2d4e6",
  timestamp = 1700000000,
}: {
  method?: string;
  encoded: string;
  body?: string;
  nonce?: string;
  timestamp?: number;
}): Authorization {
  const digest = body === "" ? "" : createHash("md5").update(body).digest("base64");
  const text = `${keyId}${method}${encoded}${timestamp}${nonce}${digest}`;
  return { keyId, nonce, timestamp, signature: createHmac("sha256", secret).update(text).digest("base64") };
}
