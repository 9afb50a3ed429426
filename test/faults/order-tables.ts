/** What the fault tests read of orders: registrations, and orders about registered names. */
import { type OrderEvent, orderStates } from "#domains/orders/states.ts";

/** A row of the table of states, as the documents name it. */
interface Transition {
  row: string;
  from: string;
  event: string;
  to: string;
}

export interface OrderTable {
  /** SQL on a row of `orders`: whether it is one of these. */
  isOne: string;
  /** SQL: only a person can decide, so the order waits. */
  isForPerson: string;
  /** SQL: a cancellation is requested, and the registry has not answered the delete. */
  isCancelling: string;
  /** SQL: it waits for the registrar's account to be topped up. */
  isWithoutCredit: string;
  transitions: readonly Transition[];
}

/** Events that one of the two cannot have. */
const onlyRegistrations: readonly OrderEvent[] = ["unreachable", "unwanted", "deleted"];
const onlyChanges: readonly OrderEvent[] = ["superseded", "prepared", "next"];
const without = (events: readonly string[]) => orderStates.transitions.filter(({ event }) => !events.includes(event));

export const registrations: OrderTable = {
  isOne: "kind = 'create'",
  isForPerson: "operator_note IS NOT NULL AND phase IS NOT NULL",
  isCancelling: `cancel_requested_at IS NOT NULL AND NOT EXISTS (SELECT FROM attempts
    WHERE order_id = o.id AND command = 'domain:delete' AND answered_at IS NOT NULL)`,
  isWithoutCredit: `phase = 'send' AND EXISTS (SELECT FROM attempts WHERE order_id = o.id AND result_code = 2104)`,
  transitions: without(onlyChanges),
};

export const changes: OrderTable = {
  isOne: "kind <> 'create'",
  isForPerson: "operator_note IS NOT NULL AND waiting_since IS NULL AND ended_at IS NULL",
  isCancelling: "false",
  isWithoutCredit: "waiting_since IS NOT NULL AND ended_at IS NULL",
  transitions: without(onlyRegistrations),
};
