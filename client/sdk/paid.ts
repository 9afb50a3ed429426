import { answerOf, idFromLocation } from "./response.ts";
import { newIdempotencyKey } from "./sign.ts";
import type { Send } from "./transport.ts";
import type { Answer, CreateOptions } from "./types.ts";

export interface RenewNow {
  /** 1 to 10. */
  years: number;
  /** The expiration_date that the name has now, as the domain shows it, or its UTC date: a repeat never buys a second term. */
  expirationDate: string;
}

/** The calls that cost money or destroy. Each places an order; follow `data.order_code`. */
export interface PaidCalls {
  renewDomain(domainName: string, term: RenewNow, options?: CreateOptions): Promise<Answer<{ order_code: string }>>;
  /** Needs a key with the scope `domains:delete`. */
  deleteDomain(domainName: string, options?: CreateOptions): Promise<Answer<{ order_code: string }>>;
  /** For a name of yours that was deleted. */
  restoreDomain(domainName: string, options?: CreateOptions): Promise<Answer<{ order_code: string }>>;
}

export function paidCalls(send: Send): PaidCalls {
  const order = async (call: Parameters<Send>[0]) => {
    const reply = await send(call);
    return answerOf(reply, { order_code: idFromLocation(reply) });
  };
  const pathOf = (domainName: string) => `/domains/${encodeURIComponent(domainName)}`;

  return {
    renewDomain(domainName, { years, expirationDate }, options = {}) {
      const body = { years, expiration_date: expirationDate };
      return order({ method: "POST", path: `${pathOf(domainName)}/renewals`, body, ...options });
    },

    deleteDomain(domainName, { idempotencyKey = newIdempotencyKey(), signal } = {}) {
      const query = `?confirm=${encodeURIComponent(domainName)}`;
      return order({ method: "DELETE", path: pathOf(domainName), query, idempotencyKey, signal });
    },

    restoreDomain: (domainName, options = {}) =>
      order({ method: "POST", path: `${pathOf(domainName)}/restores`, ...options }),
  };
}
