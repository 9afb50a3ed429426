import { parseBaseUrl } from "./base-url.ts";
import { systemClock } from "./clock.ts";
import { answerOf, objectBody } from "./response.ts";
import { createSend, type Send } from "./transport.ts";
import type { Answer, CallOptions } from "./types.ts";

const timeoutMs = 30_000;

/** A request as it was sent. */
export interface DescribedRequest {
  method: string;
  /** Path and query. */
  target: string;
  headers: Readonly<Record<string, string>> | readonly (readonly [name: string, value: string])[];
  /** As text, or its bytes as base64. */
  body?: string | undefined;
  body_base64?: string | undefined;
}

/** What the service builds from a request. */
export interface SignatureCheck {
  form: "authorization" | "message-signature" | null;
  api_key: string | null;
  nonce: string | null;
  clock: {
    server_time: string;
    server_timestamp: number;
    window_seconds: number;
    timestamp?: number;
    /** How far the timestamp is ahead of the service's time. */
    skew_seconds?: number;
    inside_window?: boolean;
    accepted?: boolean;
  };
  body: { bytes: number; md5: string; sha256: string; sha512: string };
  authorization: { strings_to_sign: { text: string; bytes: number }[] } | null;
  message_signature: {
    signature_base: { text: string; bytes: number; base64: string } | null;
    content_digests: { algorithm: string; sent: string; of_body: string; equal: boolean }[];
  } | null;
  problems: { header: string; problem: string }[];
  /** Only in the answer to a signed call. */
  match?: {
    key: "active" | "revoked" | "expired" | "unknown";
    /** Null for a key that is not your account's. */
    signed: boolean | null;
    /** The index of the string that was signed. */
    string_to_sign?: number;
    text: string;
  } | null;
}

export interface SignatureCalls {
  /** Shows what the service builds from a request, and whether a key of your account has signed it. */
  checkSignature(request: DescribedRequest, options?: CallOptions): Promise<Answer<SignatureCheck>>;
}

export function signatureCalls(send: Send, isUnsigned = false): SignatureCalls {
  return {
    async checkSignature(request, { signal } = {}) {
      const reply = await send({ method: "POST", path: "/signature-check", body: request, isUnsigned, signal });
      return answerOf(reply, objectBody<SignatureCheck>(reply));
    },
  };
}

/** The same without a key, so it works before your signatures do; the answer has no `match`. */
export function createSignatureChecker(options: { url: string; fetch?: typeof globalThis.fetch }): SignatureCalls {
  const send = createSend({
    baseUrl: parseBaseUrl(options.url),
    apiKey: "",
    apiSecret: "",
    fetch: options.fetch ?? globalThis.fetch,
    timeoutMs,
    retriesMax: 0,
    onRetry: undefined,
    clock: systemClock,
  });
  return signatureCalls(send, true);
}
