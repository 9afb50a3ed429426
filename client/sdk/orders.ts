import { followPages, pageOf, pageQuery } from "./paging.ts";
import type { Send } from "./transport.ts";
import type { CallOptions, OrderStatus, Page, PageOptions } from "./types.ts";

/** An order as lists show it. */
export interface ListedOrder {
  order_code: string;
  /** `create` for a registration; otherwise what the order changes: `renew`, `transfer-lock`, and so on. */
  kind: string;
  domain_name: string;
  status: OrderStatus;
  created_at: string;
  ended_at?: string;
  error_code?: string;
  error_text?: string;
  /** What you can do now. */
  next?: string;
}

/** An event in the life of a domain name. */
export interface DomainEvent {
  at: string;
  /** `ordered`, or what happened otherwise, for example `renewed` or `ended`. */
  event: string;
  /** More about it, for people. */
  text?: string;
  /** What was ordered. */
  order?: ListedOrder;
}

/** Selects orders; by default all. */
export interface OrderFilter {
  domainName?: string | undefined;
  kind?: string | undefined;
  status?: OrderStatus | undefined;
}

/** The calls that list orders. */
export interface OrderCalls {
  /** One page of orders, the newest first. */
  listOrders(options?: PageOptions & OrderFilter): Promise<Page<ListedOrder>>;
  allOrders(options?: CallOptions & OrderFilter): AsyncGenerator<ListedOrder>;
  /** One page of what happened to a domain name that is yours, or was, the newest first. */
  listDomainHistory(domainName: string, options?: PageOptions): Promise<Page<DomainEvent>>;
  allDomainHistory(domainName: string, options?: CallOptions): AsyncGenerator<DomainEvent>;
}

/** The query's parameters. */
export const orderFilterOf = ({ domainName, kind, status }: OrderFilter) => ({ domain_name: domainName, kind, status });

export function orderCalls(send: Send): OrderCalls {
  const getOrders = async (query: string, signal: AbortSignal | undefined) =>
    pageOf<ListedOrder>(await send({ method: "GET", path: "/orders", query, signal }));
  const getHistory = async (domainName: string, query: string, signal: AbortSignal | undefined) => {
    const path = `/domains/${encodeURIComponent(domainName)}/history`;
    return pageOf<DomainEvent>(await send({ method: "GET", path, query, signal }));
  };
  return {
    listOrders: (options = {}) => getOrders(pageQuery(options, orderFilterOf(options)), options.signal),

    allOrders: (options = {}) => followPages((query) => getOrders(query, options.signal), orderFilterOf(options)),

    listDomainHistory: (domainName, options = {}) => getHistory(domainName, pageQuery(options), options.signal),

    allDomainHistory: (domainName, options = {}) =>
      followPages((query) => getHistory(domainName, query, options.signal)),
  };
}
