import assert from "node:assert/strict";
import { test } from "node:test";
import {
  hostNameEvents,
  hostNameStatuses,
  hostNameTransitions,
  nextHostNameStatus,
} from "#hosting/host-names/states.ts";

test("a host name goes to the one state that the table gives for each state and event, and else nowhere", () => {
  for (const from of hostNameStatuses) {
    for (const event of hostNameEvents) {
      const given = hostNameTransitions.filter((transition) => transition.from === from && transition.event === event);
      assert.ok(given.length <= 1, `${from}, ${event}`);
      assert.equal(nextHostNameStatus(from, event), given[0]?.to);
    }
  }
});

test("a site answers at a host name only after control over it was shown, and no more after it was lost", () => {
  const leadingTo = (status: string) => hostNameTransitions.filter(({ to }) => to === status);
  const gained = leadingTo("Proven").filter(({ from }) => from === "Waiting");
  assert.deepEqual(
    gained.map(({ event }) => event),
    ["shown"],
  );
  const kept = leadingTo("Proven").filter(({ from }) => from === "Proven");
  assert.deepEqual(
    kept.map(({ event }) => event),
    ["shown", "missing", "unanswered"],
  );
});
