import type { Clock } from "./clock.ts";
import { followPages, pageOf, pageQuery } from "./paging.ts";
import { answerOf, idFromLocation, objectBody } from "./response.ts";
import type { Send } from "./transport.ts";
import type {
  Answer,
  CallOptions,
  CreateOptions,
  Domain,
  Order,
  OrderStatus,
  Page,
  PageOptions,
  Renewal,
  RenewalOptions,
  WaitOptions,
} from "./types.ts";
import { waitUntilFinal } from "./wait.ts";

const finalStatuses: readonly OrderStatus[] = ["Finished", "Errors", "FailedValidation", "Cancelled"];

export interface OrderOptions extends CallOptions {
  /** Up to 30: how many seconds the service may hold the answer until the status changes. */
  waitSeconds?: number | undefined;
}

/** The calls for domain names and their orders. */
export interface DomainCalls {
  /** One page; by default the first 25 items. */
  listDomains(options?: PageOptions): Promise<Page<Domain>>;
  /**
   * Every domain of the portfolio. It neither skips nor repeats one, even when the portfolio changes in the meantime.
   */
  allDomains(options?: CallOptions): AsyncGenerator<Domain>;
  getDomain(domainName: string, options?: CallOptions): Promise<Answer<Domain>>;
  /** Orders a registration. Follow `data.order_code`; look again after `checkAfterSeconds`. */
  registerDomain(domainName: string, options?: CreateOptions): Promise<Answer<{ order_code: string }>>;
  /** Sets whether a name will renew. Rejects with `domain_renewal_underway` once the registry is carrying it out. */
  setWillRenew(domainName: string, willRenew: boolean, options?: CallOptions): Promise<Answer<undefined>>;
  /** One page of upcoming and recent renewals, by the end of the term. */
  listRenewals(options?: RenewalOptions): Promise<Page<Renewal>>;
  allRenewals(options?: Pick<RenewalOptions, "status" | "signal">): AsyncGenerator<Renewal>;
  getOrder(orderCode: string, options?: OrderOptions): Promise<Answer<Order>>;
  /** Resolves with a final status, success or failure: check `data.status`. See `waitUntilFinal` for how it waits. */
  waitForOrder(orderCode: string, options?: WaitOptions<Order>): Promise<Answer<Order>>;
}

export function domainCalls(send: Send, clock: Clock): DomainCalls {
  const getPage = async (query: string, signal: AbortSignal | undefined) =>
    pageOf<Domain>(await send({ method: "GET", path: "/domains", query, signal }));
  const getRenewals = async (query: string, signal: AbortSignal | undefined) =>
    pageOf<Renewal>(await send({ method: "GET", path: "/renewals", query, signal }));

  const calls: DomainCalls = {
    listDomains: (options = {}) => getPage(pageQuery(options), options.signal),

    allDomains: (options = {}) => followPages((query) => getPage(query, options.signal)),

    async getDomain(domainName, options = {}) {
      const path = `/domains/${encodeURIComponent(domainName)}`;
      const reply = await send({ method: "GET", path, signal: options.signal });
      return answerOf(reply, objectBody<Domain>(reply));
    },

    async registerDomain(domainName, options = {}) {
      const reply = await send({
        method: "POST",
        path: "/domains/registrations",
        body: { domain_name: domainName },
        ...options,
      });
      return answerOf(reply, { order_code: idFromLocation(reply) });
    },

    async setWillRenew(domainName, willRenew, { signal } = {}) {
      const path = `/domains/${encodeURIComponent(domainName)}/renew`;
      return answerOf(await send({ method: "PUT", path, body: { will_renew: willRenew }, signal }), undefined);
    },

    listRenewals: (options = {}) => getRenewals(pageQuery(options, options), options.signal),

    allRenewals: ({ status, signal } = {}) => followPages((query) => getRenewals(query, signal), { status }),

    async getOrder(orderCode, options = {}) {
      const path = `/domains/registrations/${encodeURIComponent(orderCode)}`;
      const reply = await send({ method: "GET", path, ...options });
      return answerOf(reply, objectBody<Order>(reply));
    },

    waitForOrder: (orderCode, options = {}) =>
      waitUntilFinal(
        (waitSeconds) => calls.getOrder(orderCode, { waitSeconds, signal: options.signal }),
        (order) => order.status,
        (order) => finalStatuses.includes(order.status),
        options,
        clock,
      ),
  };
  return calls;
}
