import { UnsuccessfulError } from "./errors.ts";
import type { ExportableItems } from "./items.ts";
import { pathOf, Resource } from "./resource.ts";
import type {
  Answer,
  CallOptions,
  HeldOptions,
  Order,
  OrderFilter,
  OrderStatus,
  PlacedOrder,
  WaitOptions,
} from "./types.ts";
import { waitUntilFinal } from "./wait.ts";

const finalStatuses: readonly OrderStatus[] = ["Finished", "Errors", "FailedValidation", "Cancelled"];

/** Orders, of registrations and of registered names. Where one is meant, give what a call has placed, or its code. */
export class Orders extends Resource {
  /** The newest first. */
  list({ domainName, kind, status, signal }: OrderFilter & CallOptions = {}): ExportableItems<Order> {
    return this.exportable({ path: "/orders", filter: { domain_name: domainName, kind, status }, signal });
  }

  get(orderCode: string, options?: HeldOptions): Promise<Answer<Order>> {
    return this.read(pathOf("orders", orderCode), options);
  }

  /**
   * Waits until an order is `Finished`. Rejects with `UnsuccessfulError` when it ends in another way, and with `WaitTimeoutError` when
   * the time runs out.
   */
  async finished(order: PlacedOrder | string, options?: WaitOptions<Order>): Promise<Answer<Order>> {
    const ended = await this.wait(order, options);
    if (ended.data.status !== "Finished") throw new UnsuccessfulError(`the order ${ended.data.order_code}`, ended.data);
    return ended;
  }

  /** Resolves with a final status, success or failure: check `data.status`. */
  wait(order: PlacedOrder | string, options: WaitOptions<Order> = {}): Promise<Answer<Order>> {
    const isCode = typeof order === "string";
    const orderCode = isCode ? order : order.data.order_code;
    return waitUntilFinal(
      (waitSeconds) => this.get(orderCode, { waitSeconds, signal: options.signal }),
      ({ status }) => status,
      ({ status }) => finalStatuses.includes(status),
      { checkAfterSeconds: isCode ? undefined : order.checkAfterSeconds, ...options },
      this.api.clock,
    );
  }
}
