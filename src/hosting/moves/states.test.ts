import assert from "node:assert/strict";
import { test } from "node:test";
import { moveEvents, moveStates, nextMoveState } from "#hosting/moves/states.ts";

/** The whole machine, one line per state, one column per event; "-" leaves the move unchanged. */
const expected = `
             doubtful   copied    frozen     switched  left   given-up   returned
  Copying    Copying    Freezing  -          -         -      Returning  -
  Freezing   Freezing   -         Finishing  -         -      Returning  -
  Finishing  Finishing  -         -          Leaving   -      Returning  -
  Leaving    Leaving    -         -          -         Moved  -          -
  Moved      -          -         -          -         -      -          -
  Returning  Returning  -         -          -         -      -          Returned
  Returned   -          -         -          -         -      -          -
`;

const [header = [], ...lines] = expected
  .trim()
  .split("\n")
  .map((line) => line.trim().split(/ +/));

test("every event in every state of a move leads where the table says", () => {
  assert.deepEqual(header, moveEvents);
  const walked = moveStates.map((state) => [state, ...moveEvents.map((event) => nextMoveState(state, event) ?? "-")]);
  assert.deepEqual(walked, lines);
});

test("an account that was switched to its new node never goes back", () => {
  const reached = new Set(["Leaving"]);
  for (const state of reached) {
    for (const event of moveEvents) {
      const next = nextMoveState(state as "Leaving", event);
      if (next) reached.add(next);
    }
  }
  assert.deepEqual([...reached], ["Leaving", "Moved"]);
});
