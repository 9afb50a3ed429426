import assert from "node:assert/strict";
import { test } from "node:test";
import { columnsOf } from "#domains/changes/states.ts";
import {
  isRenewalOver,
  isUnderWay,
  nextRenewalState,
  type RenewalState,
  renewalEvents,
  renewalState,
  renewalStates,
  renewalStatuses,
  renewalTransitions,
} from "#domains/renewals/states.ts";

/** The rows that docs/renewals.md explains, a second time: row, state, event, next state. */
const expected = `
  1   Scheduled               due                  P:look
  1   Scheduled               not-wanted           L:wait
  2   P:look                  renewable            P:renew
  2   P:look                  renewed              Renewed
  2   P:look                  not-wanted           L:wait
  3   P:look                  look-lost            P:look
  4   P:look                  gone                 P:look
  4   P:look                  leaving              Attention
  4a  P:look                  contradicted         Attention
  5   P:renew                 answered             P:verify:answered
  5a  P:renew                 renewed              Renewed
  6   P:renew                 pending              P:pending
  7   P:renew                 disputed             P:look
  8   P:renew                 out-of-credit        P:look
  9   P:renew                 not-executed         P:look
  10  P:renew                 operator-needed      Attention
  11  P:renew                 unanswered           P:verify:lost
  12  P:renew                 not-wanted           L:wait
  13  P:pending               renewed              Renewed
  13  P:pending               not-seen             P:look
  13  P:pending               gone                 P:look
  14  P:verify:answered       renewed              Renewed
  14  P:verify:answered       not-seen             P:verify:answered
  14  P:verify:answered       look-lost            P:verify:answered
  14  P:verify:answered       contradicted         Attention
  14  P:verify:answered       gone                 P:look
  15  P:verify:lost           seen-once            P:verify:lost
  15  P:verify:lost           renewed              Renewed
  15  P:verify:lost           pending              P:pending
  15  P:verify:lost           not-seen             P:look
  15  P:verify:lost           look-lost            P:verify:lost
  15  P:verify:lost           gone                 P:look
  15a P:pending               unprovable           P:verify:unseen
  15a P:verify:lost           unprovable           P:verify:unseen
  15a P:verify:unseen         unprovable           P:verify:unseen
  15a P:verify:unseen         look-lost            P:verify:unseen
  15b P:verify:unseen         settled-renewed      Renewed
  15b P:verify:unseen         settled-not-renewed  P:look
  16  Attention               resumed              P:look
  17  L:wait                  wanted               P:look
  17  L:delete                wanted               P:look
  18  L:wait                  look-lost            L:wait
  19  L:wait                  renewed-by-registry  L:delete
  19  L:wait                  operator-needed      Attention
  20  L:delete                answered             L:verify:answered
  20  L:delete                unanswered           L:verify:lost
  20  L:delete                not-executed         L:delete
  20  L:delete                operator-needed      Attention
  20  L:delete                grace-over           Attention
  21  L:verify:answered       left                 Ended
  21  L:verify:answered       not-seen             L:verify:answered
  21  L:verify:answered       look-lost            L:verify:answered
  21  L:verify:answered       contradicted         Attention
  22  L:verify:lost           seen-once            L:verify:lost
  22  L:verify:lost           left                 Ended
  22  L:verify:lost           not-seen             L:delete
  22  L:verify:lost           look-lost            L:verify:lost
  23  Scheduled               left                 Ended
  23  P:look                  left                 Ended
  23  P:renew                 left                 Ended
  23  P:pending               left                 Ended
  23  P:verify:answered       left                 Ended
  23  P:verify:lost           left                 Ended
  23  Attention               left                 Ended
  23  L:wait                  left                 Ended
  23  L:delete                left                 Ended
`;

const compact = (state: RenewalState) => state.replace(/^(\w)\w* \((.*)\)$/, "$1:$2").replace(": ", ":");

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

test("after a command that may have reached the registry, it is asked before anything else is sent", () => {
  const senders = renewalStates.filter((state) => nextRenewalState(state, "unanswered"));
  assert.deepEqual(senders, ["Processing (renew)", "Lapsing (delete)"]);
  for (const state of senders) {
    const { to } = nextRenewalState(state, "unanswered")!;
    assert.ok(isUnderWay(to), `${to} lets the reseller switch it`);
    assert.ok(!nextRenewalState(to, "wanted") && !nextRenewalState(to, "not-wanted"), `${to} forgets the command`);
  }
});

test("a renew that nobody can see is sent again only after an operator has said that it was not executed", () => {
  const ways = renewalTransitions.filter(({ from, to }) => from === "Processing (verify: unseen)" && from !== to);
  assert.deepEqual(
    ways.map(({ event, to }) => `${event} ${to}`),
    ["settled-renewed Renewed", "settled-not-renewed Processing (look)"],
  );
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
