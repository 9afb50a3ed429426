import { createHash, createHmac } from "node:crypto";
import { parseMessageSignature, verifyMessageSignature } from "#api/signing/message-signature.ts";
import { keyId, secret } from "#api/signing/test-signature-client.ts";

// Signs requests by RFC 9421 as a client does, for the tests beside it.

/** A request as a client writes it; `signed` adds the signature's headers. */
export interface Draft {
  method: string;
  target: string;
  body: string;
  authority: string;
  headers: Record<string, string>;
  /** Covered in addition to method, path and query, in this order. */
  covered: string[];
  nonce: string;
  created: number;
  /** After the three required parameters. */
  more: string;
}

export const plain: Draft = {
  method: "GET",
  target: "/v1/domains?skip=0&take=10",
  body: "",
  authority: "api.example",
  headers: {},
  covered: [],
  nonce: "5f0c3a1b2d4e7",
  created: 1700000001,
  more: "",
};

export const withBody: Draft = {
  ...plain,
  method: "POST",
  target: "/v1/domains/registrations",
  body: '{"domain_name":"hello.example"}',
  headers: { "idempotency-key": "order-17", "content-type": "application/json" },
  covered: ["@authority", "idempotency-key", "content-digest"],
};

export function digestOf(body: string, algorithm: "sha-256" | "sha-512" = "sha-256"): string {
  return `${algorithm}=:${createHash(algorithm.replace("-", "")).update(body).digest("base64")}:`;
}

type SentHeaders = Record<string, string | undefined>;
export type Sent = ReturnType<typeof signed>;

/** Signs as a client does, independently of the code under test. */
export function signed(draft: Draft, key: string | Buffer = secret) {
  const headers = { ...(draft.body !== "" && { "content-digest": digestOf(draft.body) }), ...draft.headers };
  const [path = "", query = ""] = draft.target.split(/\?(.*)/s);
  const values = new Map(Object.entries({ ...headers, "@method": draft.method, "@path": path }));
  values.set("@query", `?${query}`).set("@authority", draft.authority);
  const covered = ["@method", "@path", "@query", ...draft.covered];
  const list = `(${covered.map((name) => `"${name}"`).join(" ")})`;
  const params = `${list};keyid="${keyId}";created=${draft.created};nonce="${draft.nonce}"${draft.more}`;
  const lines = covered.map((name) => `"${name}": ${values.get(name)}`);
  const text = [...lines, `"@signature-params": ${params}`].join("\n");
  const signature = createHmac("sha256", key).update(text).digest("base64");
  return {
    method: draft.method,
    target: draft.target,
    authority: draft.authority,
    body: Buffer.from(draft.body),
    headers: { ...headers, "signature-input": `sig1=${params}`, signature: `sig1=:${signature}:` } as SentHeaders,
  };
}

export function parse(headers: SentHeaders) {
  const { signature, "signature-input": signatureInput, "content-digest": contentDigest } = headers;
  return parseMessageSignature({ signatureInput, signature, contentDigest });
}

export function accepts(sent: Sent): boolean {
  const signature = parse(sent.headers);
  return signature !== undefined && verifyMessageSignature({ ...sent, signature, secret });
}
