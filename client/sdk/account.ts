import { answerOf, objectBody } from "./response.ts";
import type { Send } from "./transport.ts";
import type { Account, Answer, CallOptions } from "./types.ts";

/** The call about who is calling. */
export interface AccountCalls {
  /** Your account, the key that signs with its scopes, your limits, and the suffixes on offer. */
  getAccount(options?: CallOptions): Promise<Answer<Account>>;
}

export function accountCalls(send: Send): AccountCalls {
  return {
    async getAccount({ signal } = {}) {
      const reply = await send({ method: "GET", path: "/account", signal });
      return answerOf(reply, objectBody<Account>(reply));
    },
  };
}
