import assert from "node:assert/strict";
import { test } from "node:test";
import {
  hostNameEvents,
  hostNameStatuses,
  hostNameTransitions,
  nextHostNameStatus,
} from "#hosting/host-names/states.ts";

test("each event in each state of a host name leads where the table says, or nowhere", () => {
  for (const from of hostNameStatuses) {
    for (const event of hostNameEvents) {
      const given = hostNameTransitions.filter((transition) => transition.from === from && transition.event === event);
      assert.ok(given.length <= 1, `${from}, ${event}`);
      assert.equal(nextHostNameStatus(from, event), given[0]?.to);
    }
  }
});

test("a site is served at a host name only after control over it was proven, and until it is lost", () => {
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
