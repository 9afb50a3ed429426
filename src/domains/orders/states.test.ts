import assert from "node:assert/strict";
import { test } from "node:test";
import {
  isFinal,
  type OrderState,
  orderPhases,
  orderState,
  orderStates,
  orderStatuses,
} from "#domains/orders/states.ts";
import { columnsOf } from "#progress/state-table.ts";

/** The rows that docs/states.md explains, a second time: row, event, the states in which it applies → the next one. */
const expected = `
  1  started         NotProvisioned → send
  1  unreachable     NotProvisioned → NotProvisioned
  2  superseded      NotProvisioned send → Cancelled
  2  cancel          NotProvisioned send → Cancelled
  3  done            send answered lost Pending → Finished
  4  rejected        send → FailedValidation
  5  failed          send answered lost Pending → Errors
  6  look-lost       send → send
  6  not-executed    send → send
  7  disputed        send → send
  8  out-of-credit   send → send
  9  prepared        send → send
  9  answered        send → answered
  10 pending         send answered lost → Pending
  11 unanswered      send → lost
  12 not-seen        answered → answered
  12 look-lost       answered → answered
  13 next            answered → send
  14 seen-once       lost → lost
  14 look-lost       lost → lost
  14 not-seen        lost → send
  15 look-lost       Pending → Pending
  15 not-seen        Pending → send
  16 settled-done    send answered lost Pending → Finished
  16 settled-failed  send answered lost Pending → Errors
  17 unwanted        send answered lost Pending → send
  17 deleted         send answered lost Pending → Cancelled
`;

const ended: OrderState[] = ["Errors", "Finished", "FailedValidation", "Cancelled"];
const open: OrderState[] = [
  "NotProvisioned",
  "Processing (send)",
  "Processing (verify: answered)",
  "Processing (verify: lost)",
  "Pending",
];
const { transitions } = orderStates;

const compact = (state: OrderState) => state.replace(/^Processing \((?:verify: )?(.*)\)$/, "$1");

const waysFrom = (state: OrderState) =>
  transitions.filter(({ from, to }) => from === state && from !== to).map(({ event, to }) => `${event} ${compact(to)}`);

test("the table of transitions is the documented one, row for row", () => {
  const documented = expected
    .trim()
    .split("\n")
    .flatMap((line) => {
      const [row, event, ...states] = line.trim().split(/ +/);
      const [to] = states.slice(-1);
      return states.slice(0, -2).map((from) => `${row} ${from} ${event} ${to}`);
    });
  const rows = transitions.map(({ row, from, event, to }) => `${row} ${compact(from)} ${event} ${compact(to)}`);
  assert.deepEqual(rows.sort(), documented.sort());
});

test("in a state, an event leads to one state", () => {
  const keys = transitions.map(({ from, event }) => `${from} × ${event}`);
  assert.equal(new Set(keys).size, keys.length);
});

test("an order that has ended never changes again, and every other one can end", () => {
  for (const state of ended) {
    assert.ok(orderStates.isFinal(state) && isFinal(state), state);
  }
  for (const start of open) {
    assert.ok(!isFinal(start));
    const reached = new Set([start]);
    for (const state of reached) {
      for (const { from, to } of transitions) if (from === state) reached.add(to);
    }
    for (const end of ended) assert.ok(reached.has(end), `${start} never ends as ${end}`);
  }
});

test("the public status never goes back to NotProvisioned", () => {
  const back = transitions.filter(({ from, to }) => to === "NotProvisioned" && from !== to);
  assert.deepEqual(back, []);
});

test("an order that was not sent and is cancelled ends so; one that may have been sent ends by what the registry shows", () => {
  const cancelled = transitions
    .filter(({ to }) => to === "Cancelled")
    .map(({ from, event }) => `${compact(from)} ${event}`);
  assert.deepEqual(cancelled.filter((way) => !way.endsWith(" deleted")).sort(), [
    "NotProvisioned cancel",
    "NotProvisioned superseded",
    "send cancel",
    "send superseded",
  ]);
});

test("after a lost answer nothing is sent before a lookup has shown that the command was not executed", () => {
  assert.deepEqual(waysFrom("Processing (verify: lost)"), [
    "done Finished",
    "failed Errors",
    "pending Pending",
    "not-seen send",
    "settled-done Finished",
    "settled-failed Errors",
    "unwanted send",
    "deleted Cancelled",
  ]);
});

test("a command that was answered with success is never sent again because a lookup does not show it", () => {
  assert.deepEqual(
    transitions
      .filter(({ from, event }) => from === "Processing (verify: answered)" && /look-lost|not-seen/.test(event))
      .map(({ to }) => to),
    ["Processing (verify: answered)", "Processing (verify: answered)"],
  );
});

test("a state's name and its columns convert into each other", () => {
  for (const state of [...open, ...ended]) {
    const columns = columnsOf(state);
    assert.ok((orderStatuses as readonly string[]).includes(columns.status));
    assert.ok(columns.phase === null || (orderPhases as readonly string[]).includes(columns.phase));
    assert.equal(orderState(columns), state);
  }
});
