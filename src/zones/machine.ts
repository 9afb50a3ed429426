/** Runs the steps of zones: each is due until the name servers show its newest version. */
import type { Context } from "#context.ts";
import type { RowLocks } from "#locks/row-locks.ts";
import { type RunningMachine, startMachine } from "#progress/engine.ts";
import { progressRows } from "#progress/rows.ts";
import { advanceZone } from "#zones/publish.ts";
import type { Notifier } from "#zones/servers/notify.ts";

/** Concurrent steps in a worker: they wait for name servers most of the time. */
const zonesMax = 16;
/** The first half of the locks' keys; "zon" in ASCII. */
const lockClass = 0x7a6f6e;

const zoneRows = progressRows("zones", {
  table: "zones",
  id: { column: "id", type: "int8" },
  // A zone that leaves may wait for months.
  longestWait: "CASE state WHEN 'Leaving' THEN NULL ELSE interval '2 minutes' END",
});

/** Runs the steps that are due until it is stopped. Does not throw. */
export function startZones(context: Context, locks: RowLocks, notifier: Notifier): RunningMachine {
  return startMachine(context, {
    name: "zones",
    rows: zoneRows(context),
    rowsMax: zonesMax,
    exclusion: { locks, lockClass },
    step: (id, signal) => advanceZone(context, id, signal, notifier),
  });
}
