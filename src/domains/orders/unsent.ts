import { unansweredAttempts } from "#domains/orders/attempts.ts";
import type { Order } from "#domains/orders/order.ts";
import { orderState, orderStates } from "#domains/orders/states.ts";

/** What a lookup has found out about a name that is to be registered: somebody has it, perhaps we do. */
export interface FoundExisting {
  exists?: true;
}

/** Whether an order can be cancelled at once, because nothing that it has sent can change the name. */
export function mayBeCancelled({ attempts, found, kind, ...state }: Order): boolean {
  if (orderStates.next(orderState(state), "cancel") === undefined) return false;
  if (kind !== "create") return unansweredAttempts(attempts).length === 0;
  // The name may be registered for us: then it has to be deleted.
  const isSent = attempts.some(
    ({ command, answered_at, result_code }) =>
      command === "domain:delete" ||
      (command === "domain:create" && (answered_at === null || result_code === 1000 || result_code === 1001)),
  );
  return !isSent && !(found as FoundExisting).exists;
}
