/**
 * The renewal's state machine, as a table: in this state, this event leads to that state. An event that the table does not list
 * for a state leaves the renewal unchanged. The first column is the row's number in docs/renewals.md.
 *
 * `Processing` renews the name, `Lapsing` lets it end. Both have phases, and `verify` has a cause: `answered` (the registry
 * reported success, which `<info>` must confirm), `lost` (the answer never came, so the command may have been executed) or
 * `unseen` (the same, and the registry does not show whether it was: only an operator can find out).
 */

import { type StateColumns, stateOf, stateTable, type TransitionRow } from "#domains/changes/states.ts";

export const renewalStatuses = ["Scheduled", "Processing", "Attention", "Lapsing", "Renewed", "Ended"] as const;
export type RenewalStatus = (typeof renewalStatuses)[number];

export const renewalPhases = ["look", "renew", "pending", "wait", "delete", "verify"] as const;

export const renewalStates = [
  "Scheduled",
  "Processing (look)",
  "Processing (renew)",
  "Processing (pending)",
  "Processing (verify: answered)",
  "Processing (verify: lost)",
  "Processing (verify: unseen)",
  "Attention",
  "Lapsing (wait)",
  "Lapsing (delete)",
  "Lapsing (verify: answered)",
  "Lapsing (verify: lost)",
  "Renewed",
  "Ended",
] as const;
export type RenewalState = (typeof renewalStates)[number];

/** The states in which a name can leave by itself, beside those that find out whether its delete was executed. */
const leavable = [
  "Scheduled",
  "Processing (look)",
  "Processing (renew)",
  "Processing (pending)",
  "Processing (verify: answered)",
  "Processing (verify: lost)",
  "Attention",
  "Lapsing (wait)",
  "Lapsing (delete)",
] as const satisfies readonly RenewalState[];

const rows = [
  ["1", "Scheduled", "due", "Processing (look)"],
  ["1", "Scheduled", "not-wanted", "Lapsing (wait)"],
  ["2", "Processing (look)", "renewable", "Processing (renew)"],
  ["2", "Processing (look)", "renewed", "Renewed"],
  ["2", "Processing (look)", "not-wanted", "Lapsing (wait)"],
  ["3", "Processing (look)", "look-lost", "Processing (look)"],
  ["4", "Processing (look)", "gone", "Processing (look)"],
  ["4", "Processing (look)", "leaving", "Attention"],
  ["4a", "Processing (look)", "contradicted", "Attention"],
  ["5", "Processing (renew)", "answered", "Processing (verify: answered)"],
  ["5a", "Processing (renew)", "renewed", "Renewed"],
  ["6", "Processing (renew)", "pending", "Processing (pending)"],
  ["7", "Processing (renew)", "disputed", "Processing (look)"],
  ["8", "Processing (renew)", "out-of-credit", "Processing (look)"],
  ["9", "Processing (renew)", "not-executed", "Processing (look)"],
  ["10", "Processing (renew)", "operator-needed", "Attention"],
  ["11", "Processing (renew)", "unanswered", "Processing (verify: lost)"],
  ["12", "Processing (renew)", "not-wanted", "Lapsing (wait)"],
  ["13", "Processing (pending)", "renewed", "Renewed"],
  ["13", "Processing (pending)", "not-seen", "Processing (look)"],
  ["13", "Processing (pending)", "gone", "Processing (look)"],
  ["14", "Processing (verify: answered)", "renewed", "Renewed"],
  ["14", "Processing (verify: answered)", "not-seen", "Processing (verify: answered)"],
  ["14", "Processing (verify: answered)", "look-lost", "Processing (verify: answered)"],
  ["14", "Processing (verify: answered)", "contradicted", "Attention"],
  ["14", "Processing (verify: answered)", "gone", "Processing (look)"],
  ["15", "Processing (verify: lost)", "seen-once", "Processing (verify: lost)"],
  ["15", "Processing (verify: lost)", "renewed", "Renewed"],
  ["15", "Processing (verify: lost)", "pending", "Processing (pending)"],
  ["15", "Processing (verify: lost)", "not-seen", "Processing (look)"],
  ["15", "Processing (verify: lost)", "look-lost", "Processing (verify: lost)"],
  ["15", "Processing (verify: lost)", "gone", "Processing (look)"],
  ["15a", "Processing (pending)", "unprovable", "Processing (verify: unseen)"],
  ["15a", "Processing (verify: lost)", "unprovable", "Processing (verify: unseen)"],
  ["15a", "Processing (verify: unseen)", "unprovable", "Processing (verify: unseen)"],
  ["15a", "Processing (verify: unseen)", "look-lost", "Processing (verify: unseen)"],
  ["15b", "Processing (verify: unseen)", "settled-renewed", "Renewed"],
  ["15b", "Processing (verify: unseen)", "settled-not-renewed", "Processing (look)"],
  ["16", "Attention", "resumed", "Processing (look)"],
  ["17", "Lapsing (wait)", "wanted", "Processing (look)"],
  ["17", "Lapsing (delete)", "wanted", "Processing (look)"],
  ["18", "Lapsing (wait)", "look-lost", "Lapsing (wait)"],
  ["19", "Lapsing (wait)", "renewed-by-registry", "Lapsing (delete)"],
  ["19", "Lapsing (wait)", "operator-needed", "Attention"],
  ["20", "Lapsing (delete)", "answered", "Lapsing (verify: answered)"],
  ["20", "Lapsing (delete)", "unanswered", "Lapsing (verify: lost)"],
  ["20", "Lapsing (delete)", "not-executed", "Lapsing (delete)"],
  ["20", "Lapsing (delete)", "operator-needed", "Attention"],
  ["20", "Lapsing (delete)", "grace-over", "Attention"],
  ["21", "Lapsing (verify: answered)", "left", "Ended"],
  ["21", "Lapsing (verify: answered)", "not-seen", "Lapsing (verify: answered)"],
  ["21", "Lapsing (verify: answered)", "look-lost", "Lapsing (verify: answered)"],
  ["21", "Lapsing (verify: answered)", "contradicted", "Attention"],
  ["22", "Lapsing (verify: lost)", "seen-once", "Lapsing (verify: lost)"],
  ["22", "Lapsing (verify: lost)", "left", "Ended"],
  ["22", "Lapsing (verify: lost)", "not-seen", "Lapsing (delete)"],
  ["22", "Lapsing (verify: lost)", "look-lost", "Lapsing (verify: lost)"],
  ["23", leavable, "left", "Ended"],
] as const satisfies readonly TransitionRow<RenewalState>[];

export type RenewalEvent = (typeof rows)[number][2];
export const renewalEvents: readonly RenewalEvent[] = [...new Set(rows.map(([, , event]) => event))];

export const renewalStateTable = stateTable<RenewalState, RenewalEvent>(rows);
export const { transitions: renewalTransitions, next: nextRenewalState } = renewalStateTable;

export const renewalState = (renewal: StateColumns) => stateOf<RenewalState>(renewal);

/** Whether a renewal in this state will never change again. */
export const isRenewalOver = (state: RenewalState) => renewalStateTable.isFinal(state);

/**
 * Whether a command has been sent, or may have been. Until its effect is known, the reseller cannot change whether the name is
 * renewed.
 */
export function isUnderWay(state: RenewalState): boolean {
  return state === "Processing (pending)" || state.includes("verify");
}
