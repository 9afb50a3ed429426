/** The state machine of a move to another node, as a table; an event that is not in it leaves the move unchanged. */

import { stateTable } from "#progress/state-table.ts";

export const moveStates = ["Copying", "Freezing", "Finishing", "Leaving", "Moved", "Returning", "Returned"] as const;
export type MoveState = (typeof moveStates)[number];

export const moveEvents = ["doubtful", "copied", "frozen", "switched", "left", "given-up", "returned"] as const;
export type MoveEvent = (typeof moveEvents)[number];

export const { transitions: moveTransitions, next: nextMoveState } = stateTable<MoveState, MoveEvent>([
  ["M1", "Copying", "doubtful", "Copying"],
  ["M1", "Freezing", "doubtful", "Freezing"],
  ["M1", "Finishing", "doubtful", "Finishing"],
  ["M1", "Leaving", "doubtful", "Leaving"],
  ["M1", "Returning", "doubtful", "Returning"],
  ["M2", "Copying", "copied", "Freezing"],
  ["M3", "Freezing", "frozen", "Finishing"],
  ["M4", "Finishing", "switched", "Leaving"],
  ["M5", "Leaving", "left", "Moved"],
  ["M6", ["Copying", "Freezing", "Finishing"], "given-up", "Returning"],
  ["M7", "Returning", "returned", "Returned"],
]);
