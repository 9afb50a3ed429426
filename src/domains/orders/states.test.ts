import assert from "node:assert/strict";
import { test } from "node:test";
import { columnsOf } from "#domains/orders/state-table.ts";
import {
  isFinal,
  nextOrderState,
  type OrderState,
  orderEvents,
  orderPhases,
  orderState,
  orderStatuses,
  orderTransitions,
} from "#domains/orders/states.ts";

/** The rows that docs/states.md explains, a second time: row, state, event, next state. */
const expected = `
  2    NotProvisioned    claimed            check
  3    NotProvisioned    unreachable        NotProvisioned
  4    check             available          create
  5    check             taken              Errors
  5    check             refused            FailedValidation
  5a   check             exists             verify:exists
  6    check             check-lost         waiting
  6    check             unreachable        waiting
  6    waiting           resumed            check
  7    create            created            Finished
  7    create            created-undated    verify:created
  8    create            create-pending     Pending
  9    create            exists             verify:exists
  10   create            rejected           FailedValidation
  11   create            operator-needed    Errors
  12   create            out-of-credit      waiting
  12   create            credit-never-came  Errors
  13   create            not-executed       waiting
  13   create            unreachable        waiting
  14   create            unanswered         verify:lost
  15   verify:lost       seen-once          verify:lost
  15   verify:lost       ours               Finished
  15   verify:lost       ours-pending       Pending
  15   verify:exists     ours               Finished
  15   verify:exists     ours-pending       Pending
  15   verify:created    ours               Finished
  15   verify:created    ours-pending       Pending
  16   verify:lost       held-by-other      Errors
  16   verify:exists     held-by-other      Errors
  16a  verify:lost       held-by-own-other  Errors
  16a  verify:exists     held-by-own-other  Errors
  16a  verify:lost       unexplained        verify:lost
  16a  verify:exists     unexplained        verify:exists
  16a  verify:created    unexplained        verify:created
  17   verify:lost       absent             create
  18   verify:exists     absent             FailedValidation
  19   verify:lost       verify-lost        verify:lost
  19   verify:exists     verify-lost        verify:exists
  19   verify:created    verify-lost        verify:created
  20   Pending           approved           Finished
  20   Pending           denied             Errors
  21   Pending           ours               Finished
  21   Pending           absent             Errors
  21   Pending           held-by-other      Errors
  22   NotProvisioned    cancel             Cancelled
  22   check             cancel             Cancelled
  22   create            cancel             Cancelled
  22   waiting           cancel             Cancelled
  23   create            held-unwanted      cancel
  23   verify:lost       held-unwanted      cancel
  23   verify:exists     held-unwanted      cancel
  23   verify:created    held-unwanted      cancel
  23   cancel            unreachable        cancel
  23   cancel            not-executed       cancel
  23   cancel            unanswered         cancel
  23   cancel            verify-lost        cancel
  23   cancel            still-held         cancel
  23   cancel            gone-once          cancel
  23   cancel            delete-pending     cancel
  23   cancel            deleted            Cancelled
  23   cancel            kept               Finished
  24   Pending           unreachable        Pending
  24   Pending           not-executed       Pending
  24   Pending           unanswered         Pending
  24   Pending           verify-lost        Pending
  24   Pending           still-held         Pending
  24   Pending           gone-once          Pending
  24   Pending           delete-pending     Pending
  24   Pending           delete-refused     Pending
  24   Pending           deleted            Cancelled
  24   Pending           held-unwanted      cancel
  26   verify:lost       settled-registered  Finished
  26   verify:exists     settled-registered  Finished
  26   verify:created    settled-registered  Finished
  26   cancel            settled-registered  Finished
  26   Pending           settled-registered  Finished
  26   verify:lost       settled-failed     Errors
  26   verify:exists     settled-failed     Errors
  26   verify:created    settled-failed     Errors
  26   cancel            settled-failed     Errors
  26   Pending           settled-failed     Errors
`;

const compact = (state: OrderState) => state.replace(/^Processing \((.*)\)$/, "$1").replace(": ", ":");

const expectedRows = expected
  .trim()
  .split("\n")
  .map((line) => line.trim().split(/ +/).join(" "));

const everyState: OrderState[] = [
  ...(["NotProvisioned", "Processing (check)", "Processing (create)", "Processing (waiting)"] as const),
  ...(["Processing (verify: lost)", "Processing (verify: exists)", "Processing (verify: created)"] as const),
  ...(["Processing (cancel)", "Pending"] as const),
  ...(["Errors", "Finished", "FailedValidation", "Cancelled"] as const),
];

test("the table of transitions is the documented one, row for row", () => {
  const rows = orderTransitions.map(({ row, from, event, to }) => `${row} ${compact(from)} ${event} ${compact(to)}`);
  assert.deepEqual(rows.sort(), expectedRows.toSorted());
});

test("in every state, exactly the documented events change an order", () => {
  const known = new Map(
    expectedRows.map((row) => {
      const [, from, event, to] = row.split(" ");
      return [`${from} ${event}`, to];
    }),
  );
  for (const state of everyState) {
    for (const event of orderEvents) {
      const next = nextOrderState(state, event);
      assert.equal(next && compact(next.to), known.get(`${compact(state)} ${event}`), `${state} × ${event}`);
    }
  }
});

test("an order that has ended never changes again", () => {
  const ended = everyState.filter((state) => isFinal(state));
  assert.deepEqual(ended, ["Errors", "Finished", "FailedValidation", "Cancelled"]);
  for (const state of ended) {
    for (const event of orderEvents) assert.equal(nextOrderState(state, event), undefined, `${state} × ${event}`);
  }
});

test("the public status never goes back to NotProvisioned", () => {
  const back = orderTransitions.filter(({ from, to }) => to === "NotProvisioned" && from !== to);
  assert.deepEqual(back, []);
});

test("an order whose create was answered with success is never created again, and never fails by itself", () => {
  const ways = orderTransitions.filter(({ from, to }) => from === "Processing (verify: created)" && from !== to);
  const ends = ways.map(({ event, to }) => `${event} ${to}`);
  assert.deepEqual(ends, [
    "ours Finished",
    "ours-pending Pending",
    "held-unwanted Processing (cancel)",
    "settled-registered Finished",
    "settled-failed Errors",
  ]);
});

test("an order whose name is held ends only by a delete, by finishing, or by an operator", () => {
  const ways = orderTransitions.filter(({ from, to }) => from === "Processing (cancel)" && isFinal(to));
  const ends = ways.map(({ event, to }) => `${event} ${to}`);
  assert.deepEqual(ends, [
    "deleted Cancelled",
    "kept Finished",
    "settled-registered Finished",
    "settled-failed Errors",
  ]);
});

test("every event leads somewhere, and from every state that is not final an order can end", () => {
  const used = new Set(orderTransitions.map(({ event }) => event));
  assert.deepEqual(
    orderEvents.filter((event) => !used.has(event)),
    [],
  );
  for (const start of everyState) {
    const reached = new Set([start]);
    for (const state of reached) {
      for (const { from, to } of orderTransitions) if (from === state) reached.add(to);
    }
    assert.ok(
      [...reached].some((state) => isFinal(state)),
      `${start} has no way out`,
    );
  }
});

test("a state's name and its columns convert into each other", () => {
  for (const state of everyState) {
    const columns = columnsOf(state);
    assert.ok((orderStatuses as readonly string[]).includes(columns.status));
    assert.ok(columns.phase === null || (orderPhases as readonly string[]).includes(columns.phase));
    assert.equal(orderState(columns), state);
  }
});
