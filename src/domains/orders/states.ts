/**
 * The registration order's state machine, as a table: in this state, this event leads to that state. An event that the table does
 * not list for a state leaves the order unchanged. The first column is the row's number in docs/states.md.
 *
 * A public status has, while it is `Processing`, an internal phase. `verify` has a cause: `lost` (the answer to a create never
 * came, so it may have been executed), `exists` (the registry says that the name exists, but not who holds it) or `created` (the
 * registry has registered it for us, but has not said yet until when).
 */

import { type StateColumns, stateOf } from "#domains/changes/states.ts";
import { stateTable, type TransitionRow } from "#progress/state-table.ts";

export const orderStatuses = [
  "NotProvisioned",
  "Processing",
  "Pending",
  "Errors",
  "Finished",
  "FailedValidation",
  "Cancelled",
] as const;
export type OrderStatus = (typeof orderStatuses)[number];
export const orderPhases = ["check", "create", "waiting", "verify", "cancel"] as const;

export type OrderState =
  | "NotProvisioned"
  | "Processing (check)"
  | "Processing (create)"
  | "Processing (waiting)"
  | "Processing (verify: lost)"
  | "Processing (verify: exists)"
  | "Processing (verify: created)"
  | "Processing (cancel)"
  | "Pending"
  | "Errors"
  | "Finished"
  | "FailedValidation"
  | "Cancelled";

const unsent = ["NotProvisioned", "Processing (check)", "Processing (create)", "Processing (waiting)"] as const;
const doubt = ["Processing (verify: lost)", "Processing (verify: exists)"] as const;
const verify = [...doubt, "Processing (verify: created)"] as const;

const rows = [
  ["2", "NotProvisioned", "claimed", "Processing (check)"],
  ["3", "NotProvisioned", "unreachable", "NotProvisioned"],
  ["4", "Processing (check)", "available", "Processing (create)"],
  ["5", "Processing (check)", "taken", "Errors"],
  ["5", "Processing (check)", "refused", "FailedValidation"],
  ["5a", "Processing (check)", "exists", "Processing (verify: exists)"],
  ["6", "Processing (check)", "check-lost", "Processing (waiting)"],
  ["6", "Processing (check)", "unreachable", "Processing (waiting)"],
  ["6", "Processing (waiting)", "resumed", "Processing (check)"],
  ["7", "Processing (create)", "created", "Finished"],
  ["7", "Processing (create)", "created-undated", "Processing (verify: created)"],
  ["8", "Processing (create)", "create-pending", "Pending"],
  ["9", "Processing (create)", "exists", "Processing (verify: exists)"],
  ["10", "Processing (create)", "rejected", "FailedValidation"],
  ["11", "Processing (create)", "operator-needed", "Errors"],
  ["12", "Processing (create)", "out-of-credit", "Processing (waiting)"],
  ["12", "Processing (create)", "credit-never-came", "Errors"],
  ["13", "Processing (create)", "not-executed", "Processing (waiting)"],
  ["13", "Processing (create)", "unreachable", "Processing (waiting)"],
  ["14", "Processing (create)", "unanswered", "Processing (verify: lost)"],
  ["15", "Processing (verify: lost)", "seen-once", "Processing (verify: lost)"],
  ["15", verify, "ours", "Finished"],
  ["15", verify, "ours-pending", "Pending"],
  ["16", doubt, "held-by-other", "Errors"],
  ["16a", doubt, "held-by-own-other", "Errors"],
  ["16a", "Processing (verify: lost)", "unexplained", "Processing (verify: lost)"],
  ["16a", "Processing (verify: exists)", "unexplained", "Processing (verify: exists)"],
  ["16a", "Processing (verify: created)", "unexplained", "Processing (verify: created)"],
  ["17", "Processing (verify: lost)", "absent", "Processing (create)"],
  ["18", "Processing (verify: exists)", "absent", "FailedValidation"],
  ["19", "Processing (verify: lost)", "verify-lost", "Processing (verify: lost)"],
  ["19", "Processing (verify: exists)", "verify-lost", "Processing (verify: exists)"],
  ["19", "Processing (verify: created)", "verify-lost", "Processing (verify: created)"],
  ["20", "Pending", "approved", "Finished"],
  ["20", "Pending", "denied", "Errors"],
  ["21", "Pending", "ours", "Finished"],
  ["21", "Pending", "absent", "Errors"],
  ["21", "Pending", "held-by-other", "Errors"],
  ["22", unsent, "cancel", "Cancelled"],
  ["23", ["Processing (create)", ...verify], "held-unwanted", "Processing (cancel)"],
  ["23", "Processing (cancel)", "unreachable", "Processing (cancel)"],
  ["23", "Processing (cancel)", "not-executed", "Processing (cancel)"],
  ["23", "Processing (cancel)", "unanswered", "Processing (cancel)"],
  ["23", "Processing (cancel)", "verify-lost", "Processing (cancel)"],
  ["23", "Processing (cancel)", "still-held", "Processing (cancel)"],
  ["23", "Processing (cancel)", "gone-once", "Processing (cancel)"],
  ["23", "Processing (cancel)", "delete-pending", "Processing (cancel)"],
  ["23", "Processing (cancel)", "deleted", "Cancelled"],
  ["23", "Processing (cancel)", "kept", "Finished"],
  ["24", "Pending", "unreachable", "Pending"],
  ["24", "Pending", "not-executed", "Pending"],
  ["24", "Pending", "unanswered", "Pending"],
  ["24", "Pending", "verify-lost", "Pending"],
  ["24", "Pending", "still-held", "Pending"],
  ["24", "Pending", "gone-once", "Pending"],
  ["24", "Pending", "delete-pending", "Pending"],
  ["24", "Pending", "delete-refused", "Pending"],
  ["24", "Pending", "deleted", "Cancelled"],
  ["24", "Pending", "held-unwanted", "Processing (cancel)"],
  ["26", [...verify, "Processing (cancel)", "Pending"], "settled-registered", "Finished"],
  ["26", [...verify, "Processing (cancel)", "Pending"], "settled-failed", "Errors"],
] as const satisfies readonly TransitionRow<OrderState>[];

export type OrderEvent = (typeof rows)[number][2];
export const orderEvents: readonly OrderEvent[] = [...new Set(rows.map(([, , event]) => event))];

export const orderStates = stateTable<OrderState, OrderEvent>(rows);
export const { transitions: orderTransitions, next: nextOrderState } = orderStates;

export const orderState = (order: StateColumns) => stateOf<OrderState>(order);

/** Whether an order in this status will never change again. */
export function isFinal(status: string): boolean {
  return status === "Errors" || status === "Finished" || status === "FailedValidation" || status === "Cancelled";
}

/** Whether an operator may settle an order in this state. */
export function isSettleable(state: OrderState): boolean {
  return nextOrderState(state, "settled-failed") !== undefined;
}
