/** Signatures of Standard Webhooks (https://www.standardwebhooks.com), which has libraries for receivers in most languages. */
import { createHmac } from "node:crypto";
import type { Random } from "#lib/random.ts";
import { Secret } from "#lib/secret.ts";

const prefix = "whsec_";
const secretBytes = 32;

/** A new secret, as its receiver gets it: the prefix, then base64. */
export const newWebhookSecret = (random: Random): Secret =>
  new Secret(prefix + random.bytes(secretBytes).toString("base64"));

export interface SignedContent {
  id: string;
  /** Unix seconds. */
  timestamp: number;
  body: string;
}

/** The headers of a request; several secrets sign while one replaces the other. */
export function webhookHeaders({ id, timestamp, body }: SignedContent, secrets: readonly Secret[]) {
  const content = `${id}.${timestamp}.${body}`;
  const signatures = secrets.map((secret) => {
    const key = Buffer.from(secret.reveal().slice(prefix.length), "base64");
    return `v1,${createHmac("sha256", key).update(content).digest("base64")}`;
  });
  return {
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": signatures.join(" "),
  };
}
