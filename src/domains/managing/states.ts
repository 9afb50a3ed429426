/**
 * The states of an order about a registered name, as a table: in this state, this event leads to that state. An event that the
 * table does not list for a state leaves the order unchanged. The first column is the row's number in docs/changes.md.
 *
 * `Processing` has two phases. `send` asks the registry what it shows, and sends the command that makes the difference;
 * `verify` asks whether that was carried out. Its cause is `answered` (the registry reported success, which `<info>` must
 * confirm) or `lost` (the answer never came, so the command may have been executed).
 */
import { type StateColumns, stateOf } from "#domains/changes/states.ts";
import { stateTable, type TransitionRow } from "#progress/state-table.ts";

export const changePhases = ["send", "verify"] as const;

export type ChangeState =
  | "NotProvisioned"
  | "Processing (send)"
  | "Processing (verify: answered)"
  | "Processing (verify: lost)"
  | "Pending"
  | "Errors"
  | "Finished"
  | "FailedValidation"
  | "Cancelled";

const live = ["Processing (send)", "Processing (verify: answered)", "Processing (verify: lost)", "Pending"] as const;

const rows = [
  ["C1", "NotProvisioned", "started", "Processing (send)"],
  ["C2", ["NotProvisioned", "Processing (send)"], "superseded", "Cancelled"],
  ["C2", ["NotProvisioned", "Processing (send)"], "cancel", "Cancelled"],
  ["C3", live, "done", "Finished"],
  ["C4", "Processing (send)", "rejected", "FailedValidation"],
  ["C5", live, "failed", "Errors"],
  ["C6", "Processing (send)", "look-lost", "Processing (send)"],
  ["C6", "Processing (send)", "not-executed", "Processing (send)"],
  ["C7", "Processing (send)", "disputed", "Processing (send)"],
  ["C8", "Processing (send)", "out-of-credit", "Processing (send)"],
  ["C9", "Processing (send)", "prepared", "Processing (send)"],
  ["C9", "Processing (send)", "answered", "Processing (verify: answered)"],
  ["C10", ["Processing (send)", "Processing (verify: lost)"], "pending", "Pending"],
  ["C11", "Processing (send)", "unanswered", "Processing (verify: lost)"],
  ["C12", "Processing (verify: answered)", "not-seen", "Processing (verify: answered)"],
  ["C12", "Processing (verify: answered)", "look-lost", "Processing (verify: answered)"],
  ["C13", "Processing (verify: answered)", "next", "Processing (send)"],
  ["C14", "Processing (verify: lost)", "seen-once", "Processing (verify: lost)"],
  ["C14", "Processing (verify: lost)", "look-lost", "Processing (verify: lost)"],
  ["C14", "Processing (verify: lost)", "not-seen", "Processing (send)"],
  ["C15", "Pending", "look-lost", "Pending"],
  ["C15a", "Pending", "not-seen", "Processing (send)"],
  ["C16", live, "settled-done", "Finished"],
  ["C16", live, "settled-failed", "Errors"],
] as const satisfies readonly TransitionRow<ChangeState>[];

export type ChangeEvent = (typeof rows)[number][2];

export const changeStates = stateTable<ChangeState, ChangeEvent>(rows);

export const changeState = (order: StateColumns) => stateOf<ChangeState>(order);
