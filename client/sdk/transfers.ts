import { answerOf, idFromLocation, objectBody } from "./response.ts";
import { newIdempotencyKey } from "./sign.ts";
import type { Send } from "./transport.ts";
import type { Answer, CallOptions, CreateOptions } from "./types.ts";

/** What another registrar needs to request a name's transfer. */
export interface AuthCode {
  domain_name: string;
  auth_code: string;
  expires_at: string;
}

/** Why a transfer is rejected, in the terms of the ICANN Transfer Policy. */
export const rejectReasons = [
  "fraud",
  "identity-disputed",
  "unpaid",
  "registrant-objects",
  "registered-recently",
  "transferred-recently",
  "registrant-changed-recently",
  "name-dispute",
  "transfer-dispute",
  "court-order",
] as const;
export type RejectReason = (typeof rejectReasons)[number];

export type TransferDecision = { answer: "approve" } | { answer: "reject"; reason: RejectReason };

/** The calls for names that go to another registrar. Orders are followed with `waitForOrder`. */
export interface TransferCalls {
  /** Whether other registrars can transfer the name away. */
  setTransferLock(
    domainName: string,
    isLocked: boolean,
    options?: CreateOptions,
  ): Promise<Answer<{ order_code: string }>>;
  /** Orders a new auth code; once the order is finished, `getAuthCode` reads it. */
  orderAuthCode(domainName: string, options?: CreateOptions): Promise<Answer<{ order_code: string }>>;
  /** Rejects with `auth_code_not_found` before a code's order is finished and after the code has expired. */
  getAuthCode(domainName: string, options?: CallOptions): Promise<Answer<AuthCode>>;
  /** Answers the transfer that another registrar requests now. */
  answerTransfer(
    domainName: string,
    decision: TransferDecision,
    options?: CreateOptions,
  ): Promise<Answer<{ order_code: string }>>;
}

export function transferCalls(send: Send): TransferCalls {
  const pathOf = (domainName: string, what: string) => `/domains/${encodeURIComponent(domainName)}/${what}`;
  const order = async (
    method: "PUT" | "POST",
    path: string,
    body: object | undefined,
    { idempotencyKey = newIdempotencyKey(), signal }: CreateOptions = {},
  ) => {
    const reply = await send({ method, path, ...(body && { body }), idempotencyKey, signal });
    return answerOf(reply, { order_code: idFromLocation(reply) });
  };
  return {
    setTransferLock: (domainName, isLocked, options) =>
      order("PUT", pathOf(domainName, "transfer-lock"), { transfer_locked: isLocked }, options),

    orderAuthCode: (domainName, options) => order("POST", pathOf(domainName, "auth-code"), undefined, options),

    async getAuthCode(domainName, { signal } = {}) {
      const reply = await send({ method: "GET", path: pathOf(domainName, "auth-code"), signal });
      return answerOf(reply, objectBody<AuthCode>(reply));
    },

    answerTransfer: (domainName, decision, options) =>
      order("POST", pathOf(domainName, "transfer-out"), decision, options),
  };
}
