/** Round trips to the database, counted by a proxy before it: the distance of the database costs a request this many times. */
import { countRoundTrips } from "../test/harness/round-trips.ts";
import { printTable } from "./statistics.ts";

/** There and back, where the database is far away. */
const farMs = 400;

export async function benchRoundTrips(): Promise<void> {
  const closers: (() => unknown)[] = [];
  try {
    const counts = await countRoundTrips({ after: (close) => void closers.push(close) });
    printTable(
      ["request", "round trips", `ms of waiting at ${farMs} ms each`],
      [...counts].map(([about, count]) => [about, count, count * farMs]),
    );
  } finally {
    for (let close = closers.shift(); close; close = closers.shift()) await close();
  }
}
