/**
 * The renewal's state machine, as a table: in this state, this event leads to that state. An event that the table does not list
 * for a state leaves the renewal unchanged. The first column is the row's number in docs/states.md.
 *
 * `Processing` renews the name, `Lapsing` lets it end. What is sent to the registry is an order that the renewal places (`renew`,
 * `delete`), and whose end it follows.
 */

import { type StateColumns, stateOf, stateTable, type TransitionRow } from "#progress/state-table.ts";

export const renewalStatuses = ["Scheduled", "Processing", "Attention", "Lapsing", "Renewed", "Ended"] as const;
export type RenewalStatus = (typeof renewalStatuses)[number];

export const renewalPhases = ["renew", "wait", "delete"] as const;

/** The states in which a name can be renewed or leave. */
const live = ["Scheduled", "Processing (renew)", "Attention", "Lapsing (wait)", "Lapsing (delete)"] as const;
export type LiveRenewalState = (typeof live)[number];

export const renewalStates = [...live, "Renewed", "Ended"] as const;
export type RenewalState = (typeof renewalStates)[number];

const rows = [
  ["1", "Scheduled", "due", "Processing (renew)"],
  ["1", "Scheduled", "not-wanted", "Lapsing (wait)"],
  ["2", ["Processing (renew)", "Lapsing (delete)"], "needs-operator", "Attention"],
  ["3", "Attention", "renewing", "Processing (renew)"],
  ["3", "Attention", "deleting", "Lapsing (delete)"],
  ["4", ["Attention", "Lapsing (wait)", "Lapsing (delete)"], "wanted", "Processing (renew)"],
  ["4", "Processing (renew)", "wanted", "Processing (renew)"],
  ["5", ["Attention", "Processing (renew)", "Lapsing (delete)"], "not-wanted", "Lapsing (wait)"],
  ["6", "Lapsing (wait)", "look-lost", "Lapsing (wait)"],
  ["6", "Lapsing (wait)", "renewed-by-registry", "Lapsing (delete)"],
  ["6", "Lapsing (wait)", "needs-operator", "Attention"],
  ["7", live, "renewed", "Renewed"],
  ["8", live, "left", "Ended"],
] as const satisfies readonly TransitionRow<RenewalState>[];

export type RenewalEvent = (typeof rows)[number][2];
export const renewalEvents: readonly RenewalEvent[] = [...new Set(rows.map(([, , event]) => event))];

export const renewalStateTable = stateTable<RenewalState, RenewalEvent>(rows);
export const { transitions: renewalTransitions, next: nextRenewalState } = renewalStateTable;

export const renewalState = (renewal: StateColumns) => stateOf<RenewalState>(renewal);

/** Whether a renewal in this state will never change again. */
export const isRenewalOver = (state: RenewalState) => renewalStateTable.isFinal(state);
