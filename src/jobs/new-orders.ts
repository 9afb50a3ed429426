/**
 * New orders on their way to the registry's owner. An order needs no job to begin: its row says that it is new, its
 * transaction notifies the owner, and the owner begins it at once. Only one that puts itself off, or fails, gets a job.
 * docs/decisions/0006-a-new-order-needs-no-job.md says what a job for each would cost.
 */

import { newOrdersChannel } from "#domains/orders/place.ts";
import { LeaseLost } from "#domains/registry/owner-lease.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import type { OrderStep } from "#jobs/order-steps.ts";
import { sleep } from "#lib/clock.ts";
import type { Liveness } from "#locks/liveness.ts";
import { enqueueOrder } from "#queue/enqueue.ts";

/** The queue's own delay after a first failure (graphile-worker: e seconds). */
const retryMs = 2_700;

export interface NewOrders {
  /** Whether the order waits here to begin, or is at work. */
  has(orderId: number): boolean;
  list(): number[];
  add(orderId: number, resellerId: number): void;
  /**
   * Another process that is at work on some of this registry's, in words: it was the owner before, has lost the lease and lives
   * on. While its lease would not have ended it may still write down what their creates are answered.
   */
  findElsewhere(): Promise<string | undefined>;
  /** Begins no more orders, and waits for those at work. Who waits is found by the next owner. */
  stop(): Promise<void>;
}

export interface NewOrdersOptions {
  sessions: RegistrySessions;
  step: (step: OrderStep) => Promise<void>;
  liveness: Liveness;
  /** Orders at work at once. */
  ordersMax: number;
}

/** Orders that wait to begin, in the order in which they came; each once. */
class OrderLine {
  readonly #resellerOf = new Map<number, number>();
  // A walk from the front would pass all that was deleted there, again for each order: 75 us when 100,000 wait.
  #walk = this.#resellerOf.entries();

  has(orderId: number): boolean {
    return this.#resellerOf.has(orderId);
  }

  list(): number[] {
    return [...this.#resellerOf.keys()];
  }

  add(orderId: number, resellerId: number): void {
    this.#resellerOf.set(orderId, resellerId);
  }

  take(): OrderStep | undefined {
    let entry = this.#walk.next();
    if (entry.done) {
      this.#walk = this.#resellerOf.entries();
      entry = this.#walk.next();
    }
    if (entry.done) return undefined;
    const [orderId, resellerId] = entry.value;
    this.#resellerOf.delete(orderId);
    return { orderId, resellerId };
  }

  clear(): void {
    this.#resellerOf.clear();
  }
}

/** Begins the orders that this process is told of, in the order in which they came. */
export async function beginNewOrders(options: NewOrdersOptions): Promise<NewOrders> {
  const { sessions, step, liveness, ordersMax } = options;
  const { context, profile } = sessions;
  const livenessName = `orders of ${profile.id}`;
  const line = new OrderLine();
  const atWork = new Map<number, Promise<void>>();
  const stopped = new AbortController();

  function beginMore(): void {
    while (atWork.size < ordersMax) {
      const order = line.take();
      if (!order) return;
      const begun = begin(order).finally(() => {
        atWork.delete(order.orderId);
        beginMore();
      });
      atWork.set(order.orderId, begun);
    }
  }

  async function begin(order: OrderStep): Promise<void> {
    try {
      await step(order);
    } catch (error) {
      // Its successor finds the order, and may be at work on it already.
      if (error instanceof LeaseLost) return;
      context.log.error(
        { err: error, order: order.orderId },
        "an order's step failed; it gets a job, to be tried again",
      );
      // Also when it is stopped: a successor may have looked for forgotten orders while this one was still at work.
      while (!(await enqueue(order)) && !stopped.signal.aborted) await sleep(retryMs, stopped.signal);
    }
  }

  /** Whether the database could be told. */
  const enqueue = ({ orderId }: OrderStep) =>
    enqueueOrder(context.database, { id: orderId, registryId: profile.id }, retryMs).then(
      () => true,
      () => false,
    );

  const has = (orderId: number) => line.has(orderId) || atWork.has(orderId);
  const add = (orderId: number, resellerId: number) => {
    if (stopped.signal.aborted) return;
    if (!has(orderId)) line.add(orderId, resellerId);
    beginMore();
  };
  await liveness.add(livenessName);
  const stopListening = context.listener.on(newOrdersChannel, (payload) => {
    const [registryId, orders = ""] = payload.split(" ");
    if (registryId !== profile.id) return;
    for (const order of orders.split(",")) add(...(order.split(":").map(Number) as [number, number]));
  });
  return {
    has,
    list: () => [...line.list(), ...atWork.keys()],
    add,
    findElsewhere: () => liveness.findElsewhere(livenessName),
    async stop() {
      stopped.abort();
      stopListening();
      line.clear();
      await Promise.all(atWork.values());
      liveness.remove(livenessName);
    },
  };
}
