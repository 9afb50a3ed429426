/**
 * Pages of a portfolio of a million names, in turns, so that other work on the machine affects all of them. Every page should cost
 * the same as the first one: the result is the ratio of the medians.
 */
import { systemClock } from "#lib/clock.ts";
import { printTable, summarize, summaryCells } from "./statistics.ts";
import { type System, withDatabase, withSystem } from "./system.ts";

const namesCount = 1_000_000;
const roundsCount = 150;
const warmupRoundsCount = 20;

export function benchPaging(): Promise<void> {
  return withSystem(async (system) => {
    const startedMs = systemClock.monotonicMs();
    await insertPortfolio(system);
    const seconds = (systemClock.monotonicMs() - startedMs) / 1000;
    process.stdout.write(`${namesCount} names inserted in one statement: ${seconds.toFixed(1)} s\n`);
    const pages: Record<string, string> = {
      "skip=0": "/domains?skip=0",
      "skip=10^3": "/domains?skip=1000",
      "skip=10^5": "/domains?skip=100000",
      "skip=500499, a chunk's last row": "/domains?skip=500499",
      "skip=10^6-25": `/domains?skip=${namesCount - 25}`,
      "cursor in the middle, next": await cursorLink(system, `/domains?skip=${namesCount / 2}`, "next"),
      "cursor in the middle, prev": await cursorLink(system, `/domains?skip=${namesCount / 2}`, "prev"),
    };
    const samples = await measure(system, pages);
    const first = summarize(samples.get("skip=0") ?? []).median;
    printTable(
      ["milliseconds", "median", "p95", "min", "max", "median / first page"],
      [...samples].map(([name, series]) => [name, ...summaryCells(series), summarize(series).median / first]),
    );
  });
}

async function measure({ client }: System, pages: Record<string, string>): Promise<Map<string, number[]>> {
  const samples = new Map<string, number[]>(Object.keys(pages).map((name) => [name, []]));
  for (let round = -warmupRoundsCount; round < roundsCount; round++) {
    for (const [name, target] of Object.entries(pages)) {
      const startedMs = systemClock.monotonicMs();
      const { status, receivedMs } = await client.send("GET", target);
      if (status !== 200) throw new Error(`${target} was answered with ${status}`);
      if (round >= 0) samples.get(name)?.push(receivedMs - startedMs);
    }
  }
  return samples;
}

/** The target that a page's `link` header names under a relation. */
async function cursorLink({ client }: System, target: string, relation: string): Promise<string> {
  const { headers } = await client.send("GET", target);
  const found = new RegExp(`<([^>]*)>; rel="${relation}"`).exec(String(headers.link))?.[1];
  if (found === undefined) throw new Error(`${target} has no link ${relation}`);
  return found;
}

async function insertPortfolio(system: System): Promise<void> {
  await withDatabase(system, async (client) => {
    await client.query(
      `INSERT INTO domains (domain_name, reseller_id, registry_id, registration_date, expiration_date, registry_ex_date,
         will_renew, status)
       SELECT 'name-' || md5(number::text) || '.example', id, 'sandbox', now(), now() + interval '1 year',
         now() + interval '1 year', true, 'ok'
       FROM generate_series(1, $1::int) AS number, (SELECT id FROM resellers LIMIT 1) AS reseller`,
      [namesCount],
    );
    await client.query("VACUUM ANALYZE domains");
    await client.query("VACUUM ANALYZE list_chunks");
  });
}
