import assert from "node:assert/strict";
import { test } from "node:test";
import { hostingEvents, hostingStatuses, hostingTransitions, nextHostingStatus } from "./states.ts";

/** The whole machine, one line per state, one column per event; "-" leaves the account unchanged. */
const expected = `
               placed        doubtful      probed  abandoned     refused  suspended  resumed
  Provisioning Provisioning  Provisioning  Ready   Provisioning  Failed   -          -
  Ready        -             -             -       -             -        Suspended  -
  Suspended    -             -             -       -             -        -          Ready
  Failed       -             -             -       -             -        -          -
`;

const [header = [], ...lines] = expected
  .trim()
  .split("\n")
  .map((line) => line.trim().split(/ +/));

test("every event in every state leads where the table says", () => {
  assert.deepEqual(header, hostingEvents);
  assert.deepEqual(
    lines.map(([status]) => status),
    hostingStatuses,
  );
  const walked = hostingStatuses.map((status) => [
    status,
    ...hostingEvents.map((event) => nextHostingStatus(status, event) ?? "-"),
  ]);
  assert.deepEqual(walked, lines);
});

test("an event leads from a state to one state only", () => {
  const starts = hostingTransitions.map(({ from, event }) => `${from} ${event}`);
  assert.equal(new Set(starts).size, starts.length);
});

test("an account becomes Ready by a probe, or from Suspended, and by nothing else", () => {
  const toReady = hostingTransitions.filter(({ to }) => to === "Ready").map(({ event }) => event);
  assert.deepEqual(toReady, ["probed", "resumed"]);
});
