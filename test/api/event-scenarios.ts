import type { Scenarios } from "./scenario.ts";

export const eventScenarios: Scenarios = {
  "GET /events": {
    bad_request: [
      ...["", "x", "evt_1_2", "evt_1_2_3&after=evt_1_2_3"].map((value) => ["after", value]),
      ...["", "domain", "domain.*,", "*", "domain.*&types=order.*"].map((value) => ["types", value]),
      ...["", "0", "-1", "x", "1&take=2"].map((value) => ["take", value]),
    ].map(([name, value]) => ({ target: `/events?${name}=${value}`, fields: [name!] })),
    events_expired: [{ target: "/events?after=evt_9_1_1", says: /restored/ }],
  },
};
