import { placedOrder } from "./response.ts";
import type { Call, Send } from "./transport.ts";
import type { PlacedOrder, WriteOptions } from "./types.ts";

export interface RenewNow {
  /** 1 to 10. */
  years: number;
  /** The expiration_date that the name has now, as the domain shows it, or its UTC date: a repeat never buys a second term. */
  expirationDate: string;
}

/** The calls that cost money or destroy. Each places an order. */
export interface PaidCalls {
  renewDomain(domainName: string, term: RenewNow, options?: WriteOptions): Promise<PlacedOrder>;
  /** Needs a key with the scope `domains:delete`. */
  deleteDomain(domainName: string, options?: WriteOptions): Promise<PlacedOrder>;
  /** For a name of yours that was deleted. */
  restoreDomain(domainName: string, options?: WriteOptions): Promise<PlacedOrder>;
}

export function paidCalls(send: Send): PaidCalls {
  const order = async (call: Call) => placedOrder(await send(call));
  const pathOf = (domainName: string) => `/domains/${encodeURIComponent(domainName)}`;

  return {
    renewDomain(domainName, { years, expirationDate }, options = {}) {
      const body = { years, expiration_date: expirationDate };
      return order({ method: "POST", path: `${pathOf(domainName)}/renewals`, body, ...options });
    },

    deleteDomain(domainName, options = {}) {
      const query = `?confirm=${encodeURIComponent(domainName)}`;
      return order({ method: "DELETE", path: pathOf(domainName), query, ...options });
    },

    restoreDomain: (domainName, options = {}) =>
      order({ method: "POST", path: `${pathOf(domainName)}/restores`, ...options }),
  };
}
