import assert from "node:assert/strict";
import { test } from "node:test";
import {
  isRenewalOver,
  nextRenewalState,
  type RenewalState,
  renewalEvents,
  renewalState,
  renewalStates,
  renewalStatuses,
  renewalTransitions,
} from "#domains/schedule/states.ts";
import { columnsOf } from "#progress/state-table.ts";

/** The rows that docs/states.md explains, a second time: row, state, event, next state. */
const expected = `
  1   Scheduled               due                  P:renew
  1   Scheduled               not-wanted           L:wait
  2   P:renew                 needs-operator       Attention
  2   L:delete                needs-operator       Attention
  3   Attention               renewing             P:renew
  3   Attention               deleting             L:delete
  4   Attention               wanted               P:renew
  4   L:wait                  wanted               P:renew
  4   L:delete                wanted               P:renew
  4   P:renew                 wanted               P:renew
  5   Attention               not-wanted           L:wait
  5   P:renew                 not-wanted           L:wait
  5   L:delete                not-wanted           L:wait
  6   L:wait                  look-lost            L:wait
  6   L:wait                  renewed-by-registry  L:delete
  6   L:wait                  needs-operator       Attention
  7   Scheduled               renewed              Renewed
  7   P:renew                 renewed              Renewed
  7   Attention               renewed              Renewed
  7   L:wait                  renewed              Renewed
  7   L:delete                renewed              Renewed
  8   Scheduled               left                 Ended
  8   P:renew                 left                 Ended
  8   Attention               left                 Ended
  8   L:wait                  left                 Ended
  8   L:delete                left                 Ended
`;

const compact = (state: RenewalState) => state.replace(/^(\w)\w* \((.*)\)$/, "$1:$2");

const expectedRows = expected
  .trim()
  .split("\n")
  .map((line) => line.trim().split(/ +/).join(" "));

test("the table of transitions is the documented one, row for row", () => {
  const rows = renewalTransitions.map(({ row, from, event, to }) => `${row} ${compact(from)} ${event} ${compact(to)}`);
  assert.deepEqual(rows.sort(), expectedRows.toSorted());
});

test("in every state, exactly the documented events change a renewal", () => {
  const known = new Map(
    expectedRows.map((row) => {
      const [, from, event, to] = row.split(" ");
      return [`${from} ${event}`, to];
    }),
  );
  for (const state of renewalStates) {
    for (const event of renewalEvents) {
      const next = nextRenewalState(state, event);
      assert.equal(next && compact(next.to), known.get(`${compact(state)} ${event}`), `${state} × ${event}`);
    }
  }
});

test("a renewal that is over never changes again, and every other one can end", () => {
  const over = renewalStates.filter((state) => isRenewalOver(state));
  assert.deepEqual(over, ["Renewed", "Ended"]);
  for (const start of renewalStates) {
    const reached = new Set<RenewalState>([start]);
    for (const state of reached) {
      for (const { from, to } of renewalTransitions) if (from === state) reached.add(to);
    }
    assert.deepEqual([...reached].filter((state) => isRenewalOver(state)).length > 0, true, `${start} has no way out`);
    if (isRenewalOver(start)) assert.equal(reached.size, 1);
  }
});

test("a name that is switched off is renewed from no state before it is switched on again", () => {
  for (const { from, event, to } of renewalTransitions) {
    if (from === "Lapsing (wait)" && to === "Processing (renew)") assert.equal(event, "wanted");
  }
});

test("every event leads somewhere", () => {
  const used = new Set(renewalTransitions.map(({ event }) => event));
  assert.deepEqual(
    renewalEvents.filter((event) => !used.has(event)),
    [],
  );
});

test("a state's name and its columns convert into each other", () => {
  for (const state of renewalStates) {
    const columns = columnsOf(state);
    assert.ok((renewalStatuses as readonly string[]).includes(columns.status));
    assert.equal(renewalState(columns), state);
  }
});
