/**
 * The states of an order, as a table: in this state, this event leads to that state. An event that the table does not list for a
 * state is a mistake. The first column is the row's number in docs/states.md.
 *
 * `Processing` has two phases. `send` finds out what is left to do, and sends the next command; `verify` asks the registry whether
 * the last one was carried out. Its cause is `answered` (the registry reported success, which `<info>` must confirm) or `lost` (the
 * answer never came, so the command may have been executed).
 */
import { type StateColumns, stateOf, stateTable, type TransitionRow } from "#progress/state-table.ts";

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
export const orderPhases = ["send", "verify"] as const;

export type OrderState =
  | "NotProvisioned"
  | "Processing (send)"
  | "Processing (verify: answered)"
  | "Processing (verify: lost)"
  | "Pending"
  | "Errors"
  | "Finished"
  | "FailedValidation"
  | "Cancelled";

const verify = ["Processing (verify: answered)", "Processing (verify: lost)"] as const;
const live = ["Processing (send)", ...verify, "Pending"] as const;
const unsent = ["NotProvisioned", "Processing (send)"] as const;

const rows = [
  ["1", "NotProvisioned", "started", "Processing (send)"],
  ["1", "NotProvisioned", "unreachable", "NotProvisioned"],
  ["2", unsent, "superseded", "Cancelled"],
  ["2", unsent, "cancel", "Cancelled"],
  ["3", live, "done", "Finished"],
  ["4", "Processing (send)", "rejected", "FailedValidation"],
  ["5", live, "failed", "Errors"],
  ["6", "Processing (send)", "look-lost", "Processing (send)"],
  ["6", "Processing (send)", "not-executed", "Processing (send)"],
  ["7", "Processing (send)", "disputed", "Processing (send)"],
  ["8", "Processing (send)", "out-of-credit", "Processing (send)"],
  ["9", "Processing (send)", "prepared", "Processing (send)"],
  ["9", "Processing (send)", "answered", "Processing (verify: answered)"],
  ["10", ["Processing (send)", ...verify], "pending", "Pending"],
  ["11", "Processing (send)", "unanswered", "Processing (verify: lost)"],
  ["12", "Processing (verify: answered)", "not-seen", "Processing (verify: answered)"],
  ["12", "Processing (verify: answered)", "look-lost", "Processing (verify: answered)"],
  ["13", "Processing (verify: answered)", "next", "Processing (send)"],
  ["14", "Processing (verify: lost)", "seen-once", "Processing (verify: lost)"],
  ["14", "Processing (verify: lost)", "look-lost", "Processing (verify: lost)"],
  ["14", "Processing (verify: lost)", "not-seen", "Processing (send)"],
  ["15", "Pending", "look-lost", "Pending"],
  ["15", "Pending", "not-seen", "Processing (send)"],
  ["16", live, "settled-done", "Finished"],
  ["16", live, "settled-failed", "Errors"],
  ["17", live, "unwanted", "Processing (send)"],
  ["17", live, "deleted", "Cancelled"],
] as const satisfies readonly TransitionRow<OrderState>[];

export type OrderEvent = (typeof rows)[number][2];

export const orderStates = stateTable<OrderState, OrderEvent>(rows);

export const orderState: (order: StateColumns) => OrderState = stateOf;

/** Whether an order in this status will never change again. */
export function isFinal(status: string): boolean {
  return status === "Errors" || status === "Finished" || status === "FailedValidation" || status === "Cancelled";
}
