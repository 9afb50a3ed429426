import type { Faults } from "./faults.ts";
import type { Holds } from "./holds.ts";
import type { Registry } from "./registry.ts";
import type { Schedule } from "./schedule.ts";

/** The registry as its servers, its control port and tests see it: with all parts, including those that know the commands. */
export interface RunningRegistry extends Registry {
  schedule: Schedule;
  holds: Holds;
  faults: Faults;
}
