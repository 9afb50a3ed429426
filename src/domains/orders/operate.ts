/**
 * An operator's requests to orders that have not ended. The order's next step carries them out, in the process that owns the registry's
 * sessions.
 */
import { statement } from "#db/statement.ts";
import {
  findOrder,
  findOrderByCode,
  mayBeCancelled,
  type Order,
  OrderConflict,
  type OrderContext,
  type Outcome,
  unansweredAttempts,
} from "#domains/orders/order.ts";
import { isFinal, orderState } from "#domains/orders/states.ts";
import { write } from "#domains/orders/write.ts";
import { OperatorError } from "#operator-error.ts";

const findOpenCircuit = statement(
  "order-circuit-open",
  "SELECT circuit_open_until FROM registries WHERE id = $registry_id AND circuit_open_until > $now",
  { circuit_open_until: "timestamptz?" },
);

const settlementRefusal = statement(
  "order-settle-refusal",
  "SELECT note FROM order_history WHERE order_id = $order_id AND event = 'settle-refused' ORDER BY id DESC LIMIT 1",
  { note: "text?" },
);

const lastAboutLost = statement(
  "order-last-about-lost",
  `SELECT event FROM order_history WHERE order_id = $order_id AND event IN ('unanswered', 'look-lost', 'seen-once')
   ORDER BY id DESC LIMIT 1`,
  { event: "text" },
);

/** @throws OperatorError when there is no such order */
export async function getOrder(context: OrderContext, code: string): Promise<Order> {
  const order = await findOrderByCode(context, code);
  if (!order) throw new OperatorError("not-found", "there is no order with this code");
  return order;
}

/** Writes a request. Starts again if the order was written meanwhile. @throws OperatorError when it has ended */
async function request(
  context: OrderContext,
  code: string,
  ask: (order: Order) => Promise<Outcome> | Outcome,
): Promise<Order> {
  for (;;) {
    const order = await getOrder(context, code);
    if (isFinal(order.status)) {
      throw new OperatorError("refused", `the order has ended already, as ${order.status}: nothing can change it`);
    }
    try {
      return await write(context, order, await ask(order));
    } catch (error) {
      if (!(error instanceof OrderConflict)) throw error;
    }
  }
}

/**
 * Whether a step may run at once. After a lost answer nothing is believed before the settle time is over, so that wait is never
 * cut short. Once a later step has failed (the backoff counts), it is over. A command that is being sent has no such wait yet.
 */
async function maySkipWait({ database }: OrderContext, order: Order): Promise<boolean> {
  const { id, attempts, backoff_count, phase } = order;
  if (phase !== "verify" || unansweredAttempts(attempts).length === 0) return true;
  if (backoff_count === 0) return false;
  // Failures before the lost answer count too.
  const [last] = await database.query(lastAboutLost, { order_id: id });
  return last?.event !== "unanswered";
}

/**
 * Cancels an order. A registration that may have been sent is not cancelled at once: its steps find out whether the registry holds the
 * name, and then delete or keep it. An attempt increments the order's version, so of a cancel and a send at the same time one sees the
 * other.
 * @returns the order as it is then
 * @throws OperatorError when there is none, it has ended, or the registry may be carrying it out
 */
export function cancelOrder(context: OrderContext, code: string): Promise<Order> {
  return request(context, code, (order) => {
    if (mayBeCancelled(order)) return { event: "cancel", reason: "cancelled by the operator" };
    if (order.kind !== "create") {
      const advice = "it ends by what the registry shows; deedhouse operator orders settle ends it on your word";
      throw new OperatorError(
        "refused",
        `the registry may be carrying the order out (${orderState(order)}): ${advice}`,
      );
    }
    // A step that waits after a lost answer keeps its time: nothing is believed before that.
    const { status, phase, next_step_at } = order;
    const nextStepAt = status === "Pending" ? undefined : (next_step_at ?? undefined);
    if (order.cancel_requested_at !== null) return { nextStepAt: next_step_at ?? undefined };
    order.cancel_requested_at = context.clock.now();
    order.unwritten.push({ event: "cancel-requested", status, phase, note: "the operator asked to cancel it" });
    return { nextStepAt };
  });
}

/**
 * Makes an order's next step due now.
 * @throws OperatorError when there is no such order, it has ended, its registry is away, or its wait must not be cut short
 */
export async function retryOrder(context: OrderContext, code: string): Promise<void> {
  await request(context, code, async (order) => {
    const { registry_id: id } = order;
    const now = context.clock.now();
    const [away] = await context.database.query(findOpenCircuit, { registry_id: id, now });
    if (away) {
      const until = away.circuit_open_until?.toISOString();
      const advice = `deedhouse registry probe ${id} connects now, and its orders continue if that succeeds`;
      throw new OperatorError("refused", `the registry ${id} is away; the next attempt is at ${until}: ${advice}`);
    }
    if (await maySkipWait(context, order)) return { nextStepAt: now };
    const until = order.next_step_at?.toISOString() ?? "its next step";
    const why = "an answer of the registry was lost, and until then the command may still be executed";
    throw new OperatorError("refused", `the order waits until ${until}: ${why}`);
  });
}

export interface Settlement {
  as: "done" | "failed";
  note: string;
  /** Fails a registration although the registry holds the name for us, or cannot be asked. */
  isForced?: boolean;
}

/**
 * Settles an order; its next step compares that with what the registry shows.
 * @returns the order's id, for `findSettlement`
 * @throws OperatorError when there is no such order, it has ended, or nothing of it was sent
 */
export async function settleOrder(
  context: OrderContext,
  code: string,
  { as, note, isForced = false }: Settlement,
): Promise<number> {
  const { id } = await request(context, code, async (order) => {
    const { status, phase, next_step_at } = order;
    if (status === "NotProvisioned" || (order.kind === "create" && mayBeCancelled(order))) {
      const advice = "nothing of it was sent, so there is nothing to settle, and it can be cancelled";
      throw new OperatorError("refused", `the order is in state ${orderState(order)}: ${advice}`);
    }
    order.settle_as = as === "failed" && isForced ? "failed-forced" : as;
    order.settle_note = note;
    order.unwritten.push({ event: "settle-requested", status, phase, note });
    return { nextStepAt: (await maySkipWait(context, order)) ? context.clock.now() : (next_step_at ?? undefined) };
  });
  return id;
}

/** Whether a requested settlement was applied; `undefined` until a step has compared it. */
export async function findSettlement(
  context: OrderContext,
  id: number,
): Promise<{ status: string } | { refusal: string } | undefined> {
  const order = await findOrder(context, id);
  if (!order) throw new Error("the order is gone");
  if (isFinal(order.status)) return { status: order.status };
  if (order.settle_as !== null) return undefined;
  const [row] = await context.database.query(settlementRefusal, { order_id: id });
  return { refusal: row?.note ?? "the order continued before the settlement was applied" };
}
