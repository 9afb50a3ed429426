/** The two tables of orders: registrations, and orders about registered names. */
import { changeStates } from "#domains/orders/change-states.ts";
import { orderTransitions } from "#domains/orders/states.ts";

/** A row of a table of states, as the documents name it. */
interface Transition {
  row: string;
  from: string;
  event: string;
  to: string;
}

export interface OrderTable {
  rows: "registration_orders" | "changes";
  history: "order_history" | "change_history";
  /** The column of an order's id in its history and its attempts. */
  subject: "order_id" | "change_id";
  code: "order_code" | "change_code";
  /** SQL: only a person can decide, so the order waits. */
  isForPerson: string;
  /** SQL: a cancellation is requested, and the registry has not answered the delete. */
  isCancelling: string;
  /** SQL: it waits for the registrar's account to be topped up. */
  isWithoutCredit: string;
  transitions: readonly Transition[];
}

export const registrations: OrderTable = {
  rows: "registration_orders",
  history: "order_history",
  subject: "order_id",
  code: "order_code",
  isForPerson: "operator_note IS NOT NULL AND phase IN ('verify', 'cancel')",
  isCancelling: `cancel_requested_at IS NOT NULL AND NOT EXISTS (SELECT FROM attempts
    WHERE order_id = o.id AND command = 'domain:delete' AND answered_at IS NOT NULL)`,
  isWithoutCredit: "phase = 'waiting'",
  transitions: orderTransitions,
};

export const changes: OrderTable = {
  rows: "changes",
  history: "change_history",
  subject: "change_id",
  code: "change_code",
  isForPerson: "operator_note IS NOT NULL AND waiting_since IS NULL AND ended_at IS NULL",
  isCancelling: "false",
  isWithoutCredit: "waiting_since IS NOT NULL AND ended_at IS NULL",
  transitions: changeStates.transitions,
};
