import type { Clock } from "./clock.ts";
import { UnsuccessfulError } from "./errors.ts";
import { followPages, pageOf, pageQuery } from "./paging.ts";
import { answerOf, objectBody } from "./response.ts";
import type { Send } from "./transport.ts";
import type {
  Answer,
  CallOptions,
  DomainEvent,
  HeldOptions,
  Order,
  OrderFilter,
  OrderStatus,
  Page,
  PageOptions,
  PlacedOrder,
  RegistrationStatus,
  WaitOptions,
} from "./types.ts";
import { waitUntilFinal } from "./wait.ts";

const finalStatuses: readonly OrderStatus[] = ["Finished", "Errors", "FailedValidation", "Cancelled"];

/** The calls for orders. */
export interface OrderCalls {
  /** One page of orders, the newest first. */
  listOrders(options?: PageOptions & OrderFilter): Promise<Page<Order>>;
  allOrders(options?: CallOptions & OrderFilter): AsyncGenerator<Order>;
  /** One page of what happened to a domain name that is yours, or was, the newest first. */
  listDomainHistory(domainName: string, options?: PageOptions): Promise<Page<DomainEvent>>;
  allDomainHistory(domainName: string, options?: CallOptions): AsyncGenerator<DomainEvent>;
  /** Any order, of a registration or a registered name. */
  getOrder(orderCode: string, options?: HeldOptions): Promise<Answer<Order>>;
  /** The status of a registration alone; `getOrder` also says why one has failed. */
  getRegistration(orderCode: string, options?: HeldOptions): Promise<Answer<RegistrationStatus>>;
  /**
   * Waits until the order that a call has placed is `Finished`. Rejects with `UnsuccessfulError` when it ends in another way, and
   * with `WaitTimeoutError` when the time runs out. @param order what the call answered, or the order's code
   */
  finished(order: PlacedOrder | string, options?: WaitOptions<Order>): Promise<Answer<Order>>;
  /** Resolves with a final status, success or failure: check `data.status`. */
  waitForOrder(orderCode: string, options?: WaitOptions<Order>): Promise<Answer<Order>>;
}

/** The query's parameters. */
export const orderFilterOf = ({ domainName, kind, status }: OrderFilter) => ({ domain_name: domainName, kind, status });

export function orderCalls(send: Send, clock: Clock): OrderCalls {
  const getOrders = async (query: string, signal: AbortSignal | undefined) =>
    pageOf<Order>(await send({ method: "GET", path: "/orders", query, signal }));
  const getHistory = async (domainName: string, query: string, signal: AbortSignal | undefined) => {
    const path = `/domains/${encodeURIComponent(domainName)}/history`;
    return pageOf<DomainEvent>(await send({ method: "GET", path, query, signal }));
  };
  const calls: OrderCalls = {
    listOrders: (options = {}) => getOrders(pageQuery(options, orderFilterOf(options)), options.signal),

    allOrders: (options = {}) => followPages(getOrders, options.signal, orderFilterOf(options)),

    listDomainHistory: (domainName, options = {}) => getHistory(domainName, pageQuery(options), options.signal),

    allDomainHistory: (domainName, options = {}) =>
      followPages((query, signal) => getHistory(domainName, query, signal), options.signal),

    async getOrder(orderCode, options = {}) {
      const reply = await send({ method: "GET", path: `/orders/${encodeURIComponent(orderCode)}`, ...options });
      return answerOf(reply, objectBody<Order>(reply));
    },

    async getRegistration(orderCode, options = {}) {
      const path = `/domains/registrations/${encodeURIComponent(orderCode)}`;
      const reply = await send({ method: "GET", path, ...options });
      return answerOf(reply, objectBody<RegistrationStatus>(reply));
    },

    async finished(order, options = {}) {
      const orderCode = typeof order === "string" ? order : order.data.order_code;
      const checkAfterSeconds = typeof order === "string" ? undefined : order.checkAfterSeconds;
      const ended = await calls.waitForOrder(orderCode, { checkAfterSeconds, ...options });
      if (ended.data.status !== "Finished") throw new UnsuccessfulError(`the order ${orderCode}`, ended.data);
      return ended;
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
