import { parseBaseUrl } from "./base-url.ts";
import { systemClock } from "./clock.ts";
import { answerOf, objectBody } from "./response.ts";
import { createSend, ownUserAgent, type Send } from "./transport.ts";
import type { Answer, CallOptions, DescribedRequest, SignatureCheck } from "./types.ts";

const timeoutMs = 30_000;

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
    userAgent: ownUserAgent,
    onRetry: undefined,
    clock: systemClock,
  });
  return signatureCalls(send, true);
}
