import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type HostingStatus,
  hostingEvents,
  hostingStatuses,
  hostingTransitions,
  nextHostingStatus,
  requestedChanges,
} from "#hosting/accounts/states.ts";

/** The whole machine, one line per event, one column per state; "-" leaves the account unchanged. */
const expected = `
                           Provisioning  Ready      Suspended  Failed   Removed
  placed                   Provisioning  -          -          -        -
  doubtful                 Provisioning  Ready      Suspended  -        -
  probed                   Ready         -          -          -        -
  abandoned                Provisioning  -          -          -        -
  refused                  Failed        -          -          -        -
  applied                  -             Ready      Suspended  -        -
  suspended                -             Suspended  -          -        -
  resumed                  -             -          Ready      -        -
  removed                  Removed       Removed    Removed    Removed  -
  password-wanted          Provisioning  Ready      Suspended  -        -
  ftp-wanted               Provisioning  Ready      Suspended  -        -
  pack-wanted              -             Ready      Suspended  -        -
  host-names-wanted        Provisioning  Ready      Suspended  -        -
  move-wanted              -             Ready      Suspended  -        -
  suspend-wanted           -             Ready      Suspended  -        -
  resume-wanted            -             Ready      Suspended  -        -
  reseller-suspend-wanted  -             Ready      Suspended  -        -
  reseller-resume-wanted   -             Ready      Suspended  -        -
  removal-wanted           Provisioning  Ready      Suspended  -        -
`;

const [header = [], ...lines] = expected
  .trim()
  .split("\n")
  .map((line) => line.trim().split(/ +/));
const events = [...hostingEvents, ...requestedChanges];

test("every event in every state leads where the table says", () => {
  assert.deepEqual(header, hostingStatuses);
  const walked = events.map((event) => [
    event,
    ...hostingStatuses.map((status) => nextHostingStatus(status, event) ?? "-"),
  ]);
  assert.deepEqual(walked, lines);
});

test("an event leads from a state to one state only", () => {
  const starts = hostingTransitions.map(({ from, event }) => `${from} ${event}`);
  assert.equal(new Set(starts).size, starts.length);
});

test("an account becomes Ready by a probe, or from Suspended, and by nothing else", () => {
  const toReady = hostingTransitions.filter(({ from, to }) => to === "Ready" && from !== to).map(({ event }) => event);
  assert.deepEqual(toReady, ["probed", "resumed"]);
});

test("a requested change leaves the status as it is: only a step changes it", () => {
  for (const { from, event, to } of hostingTransitions) {
    if ((requestedChanges as readonly string[]).includes(event)) assert.equal(to, from, event);
  }
});

test("a removed account stays removed, and every other one can be removed", () => {
  const removable = (status: HostingStatus) => nextHostingStatus(status, "removed") === "Removed";
  assert.deepEqual(hostingStatuses.filter(removable), hostingStatuses.slice(0, -1));
});
