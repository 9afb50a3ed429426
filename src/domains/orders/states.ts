/**
 * The registration order's state machine, as a table. A row says: in this state, this event leads to that state.
 * What is not in the table leaves the order unchanged. `row` is the row's number in docs/states.md.
 *
 * A public status has, while it is Processing, an internal phase. `verify` has a cause: `lost` (an answer never came,
 * so the create may have happened) or `exists` (the registry said that the object exists, but not whose it is).
 */

import { type StateColumns, stateOf, stateTable } from "#domains/changes/change.ts";

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
  | "Processing (cancel)"
  | "Pending"
  | "Errors"
  | "Finished"
  | "FailedValidation"
  | "Cancelled";

export const orderEvents = [
  "claimed",
  "unreachable",
  "resumed",
  "available",
  "taken",
  "refused",
  "check-lost",
  "created",
  "create-pending",
  "exists",
  "rejected",
  "operator-needed",
  "out-of-credit",
  "credit-never-came",
  "not-executed",
  "unanswered",
  "seen-once",
  "ours",
  "ours-pending",
  "held-by-other",
  "held-by-own-other",
  "unexplained",
  "absent",
  "verify-lost",
  "approved",
  "denied",
  "cancel",
  "held-unwanted",
  "still-held",
  "gone-once",
  "deleted",
  "delete-pending",
  "delete-refused",
  "kept",
  "settled-registered",
  "settled-failed",
] as const;
export type OrderEvent = (typeof orderEvents)[number];

const rows: [row: string, from: OrderState, event: OrderEvent, to: OrderState][] = [
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
  ["15", "Processing (verify: lost)", "ours", "Finished"],
  ["15", "Processing (verify: lost)", "ours-pending", "Pending"],
  ["15", "Processing (verify: exists)", "ours", "Finished"],
  ["15", "Processing (verify: exists)", "ours-pending", "Pending"],
  ["16", "Processing (verify: lost)", "held-by-other", "Errors"],
  ["16", "Processing (verify: exists)", "held-by-other", "Errors"],
  ["16a", "Processing (verify: lost)", "held-by-own-other", "Errors"],
  ["16a", "Processing (verify: exists)", "held-by-own-other", "Errors"],
  ["16a", "Processing (verify: lost)", "unexplained", "Processing (verify: lost)"],
  ["16a", "Processing (verify: exists)", "unexplained", "Processing (verify: exists)"],
  ["17", "Processing (verify: lost)", "absent", "Processing (create)"],
  ["18", "Processing (verify: exists)", "absent", "FailedValidation"],
  ["19", "Processing (verify: lost)", "verify-lost", "Processing (verify: lost)"],
  ["19", "Processing (verify: exists)", "verify-lost", "Processing (verify: exists)"],
  ["20", "Pending", "approved", "Finished"],
  ["20", "Pending", "denied", "Errors"],
  ["21", "Pending", "ours", "Finished"],
  ["21", "Pending", "absent", "Errors"],
  ["21", "Pending", "held-by-other", "Errors"],
  ["22", "NotProvisioned", "cancel", "Cancelled"],
  ["22", "Processing (check)", "cancel", "Cancelled"],
  ["22", "Processing (create)", "cancel", "Cancelled"],
  ["22", "Processing (waiting)", "cancel", "Cancelled"],
  ["23", "Processing (create)", "held-unwanted", "Processing (cancel)"],
  ["23", "Processing (verify: lost)", "held-unwanted", "Processing (cancel)"],
  ["23", "Processing (verify: exists)", "held-unwanted", "Processing (cancel)"],
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
  ["26", "Processing (verify: lost)", "settled-registered", "Finished"],
  ["26", "Processing (verify: exists)", "settled-registered", "Finished"],
  ["26", "Processing (cancel)", "settled-registered", "Finished"],
  ["26", "Pending", "settled-registered", "Finished"],
  ["26", "Processing (verify: lost)", "settled-failed", "Errors"],
  ["26", "Processing (verify: exists)", "settled-failed", "Errors"],
  ["26", "Processing (cancel)", "settled-failed", "Errors"],
  ["26", "Pending", "settled-failed", "Errors"],
];

export const orderStates = stateTable<OrderState, OrderEvent>(rows);
export const { transitions: orderTransitions, next: nextOrderState } = orderStates;

/** The state's name from its columns. */
export const orderState = (order: StateColumns) => stateOf<OrderState>(order);

/** Whether an order in this status will never change again. */
export function isFinal(status: string): boolean {
  return status === "Errors" || status === "Finished" || status === "FailedValidation" || status === "Cancelled";
}

/** Whether an order is in a state in which a person may say what became of it. */
export function isSettleable(state: OrderState): boolean {
  return nextOrderState(state, "settled-failed") !== undefined;
}
