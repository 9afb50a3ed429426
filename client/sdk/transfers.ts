import { answerOf, objectBody, placedOrder } from "./response.ts";
import type { Send } from "./transport.ts";
import type {
  Answer,
  AuthCode,
  CallOptions,
  PlacedOrder,
  RejectReason,
  TransferDecision,
  WriteOptions,
} from "./types.ts";

/** Every reason with which a transfer can be rejected. */
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
] as const satisfies readonly RejectReason[];

/** The calls for names that go to another registrar. */
export interface TransferCalls {
  /** Whether other registrars can transfer the name away. */
  setTransferLock(domainName: string, isLocked: boolean, options?: WriteOptions): Promise<PlacedOrder>;
  /** Orders a new auth code; once the order is finished, `getAuthCode` reads it. */
  orderAuthCode(domainName: string, options?: WriteOptions): Promise<PlacedOrder>;
  /** Rejects with `auth_code_not_found` before a code's order is finished and after the code has expired. */
  getAuthCode(domainName: string, options?: CallOptions): Promise<Answer<AuthCode>>;
  /** Answers the transfer that another registrar requests now. */
  answerTransfer(domainName: string, decision: TransferDecision, options?: WriteOptions): Promise<PlacedOrder>;
}

export function transferCalls(send: Send): TransferCalls {
  const pathOf = (domainName: string, what: string) => `/domains/${encodeURIComponent(domainName)}/${what}`;
  const order = async (
    method: "PUT" | "POST",
    path: string,
    body: object | undefined,
    options: WriteOptions = {},
  ): Promise<PlacedOrder> => placedOrder(await send({ method, path, ...(body && { body }), ...options }));
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
