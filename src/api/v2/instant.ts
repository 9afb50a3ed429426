/** Times as /v2 shows them. Clients that were generated for it read them with formats that know no fraction of a second. */
import Type from "typebox";

export const wholeSecond = Type.String({ format: "date-time", examples: ["2027-11-21T01:39:27Z"] });

/** In whole seconds, rounded down: a name's term never appears longer than it is. */
export const presentSecond = (at: Date): string => at.toISOString().replace(/\.\d{3}Z$/, "Z");
