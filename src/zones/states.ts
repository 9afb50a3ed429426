/** The state machine of a zone, as a table; an event that is not in it leaves the zone unchanged. */
import { stateTable } from "#progress/state-table.ts";

export const zoneStates = ["Publishing", "Active", "Leaving", "Withdrawn"] as const;
type ZoneState = (typeof zoneStates)[number];

/** Triggers on names write `left`, `ended` and `back` (db/functions/zone-follows.sql, zones-leave.sql). */
type ZoneEvent =
  /** Every name server that counts shows its newest version. */
  | "served"
  | "changed"
  /** The name has left the portfolio, and the zone is served for a while. */
  | "left"
  /** The name is back in the same portfolio. */
  | "back"
  /** That while is over, another account has the name, or the zone is deleted. */
  | "ended"
  | "restored";

export const { transitions: zoneTransitions } = stateTable<ZoneState, ZoneEvent>([
  ["Z1", "Publishing", "served", "Active"],
  ["Z2", ["Publishing", "Active"], "changed", "Publishing"],
  ["Z3", ["Publishing", "Active"], "left", "Leaving"],
  ["Z4", "Leaving", "served", "Leaving"],
  ["Z5", "Leaving", "back", "Publishing"],
  ["Z6", ["Publishing", "Active", "Leaving"], "ended", "Withdrawn"],
  ["Z7", "Withdrawn", "restored", "Publishing"],
]);
