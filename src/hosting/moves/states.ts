/** The state machine of a move to another node, as a table; an event that is not in it leaves the move unchanged. */

export const moveStates = ["Copying", "Freezing", "Finishing", "Leaving", "Moved", "Returning", "Returned"] as const;
export type MoveState = (typeof moveStates)[number];

export const moveEvents = ["doubtful", "copied", "frozen", "switched", "left", "given-up", "returned"] as const;
export type MoveEvent = (typeof moveEvents)[number];

export const moveTransitions: readonly { from: MoveState; event: MoveEvent; to: MoveState }[] = [
  { from: "Copying", event: "doubtful", to: "Copying" },
  { from: "Copying", event: "copied", to: "Freezing" },
  { from: "Copying", event: "given-up", to: "Returning" },
  { from: "Freezing", event: "doubtful", to: "Freezing" },
  { from: "Freezing", event: "frozen", to: "Finishing" },
  { from: "Freezing", event: "given-up", to: "Returning" },
  { from: "Finishing", event: "doubtful", to: "Finishing" },
  { from: "Finishing", event: "switched", to: "Leaving" },
  { from: "Finishing", event: "given-up", to: "Returning" },
  { from: "Leaving", event: "doubtful", to: "Leaving" },
  { from: "Leaving", event: "left", to: "Moved" },
  { from: "Returning", event: "doubtful", to: "Returning" },
  { from: "Returning", event: "returned", to: "Returned" },
];

/** Where an event leads; `undefined` when it leaves the move unchanged. */
export function nextMoveState(from: MoveState, event: MoveEvent): MoveState | undefined {
  return moveTransitions.find((transition) => transition.from === from && transition.event === event)?.to;
}
