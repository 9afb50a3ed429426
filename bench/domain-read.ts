/**
 * A signed GET /domains/<name> beside the bare server: same requests, same PostgreSQL, in turns, so that other work on
 * the machine affects both. Load and PostgreSQL share the cores, which flatters the slower server in requests per second, but
 * not in the processor time of its own process.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { type Load, startLoad } from "./load.ts";
import { processorMs } from "./processor.ts";
import { medianOf, printTable, summarize } from "./statistics.ts";
import { type System, withDatabase, withSystem } from "./system.ts";

const namesCount = 2_000;
const roundsCount = 5;
const busy = { connectionsCount: 32, requestsCount: 12_000 };
const quiet = { connectionsCount: 1, requestsCount: 1_500 };
const warmup = { connectionsCount: 32, requestsCount: 12_000 };

interface Contestant {
  name: string;
  port: number;
  pid: number;
}

interface Round {
  requestsPerSecond: number;
  medianMs: number;
  p99Ms: number;
  cpuMicrosPerRequest: number;
}

export function benchDomainRead(): Promise<void> {
  return withSystem(async (system) => {
    const targets = await insertNames(system);
    const bare = fork(fileURLToPath(new URL("bare-server.ts", import.meta.url)), [
      system.ready.database_url,
      system.ready.api_secret,
    ]);
    try {
      const [{ port }] = (await once(bare, "message")) as [{ port: number }];
      const contestants: Contestant[] = [
        { name: "bare", port, pid: bare.pid! },
        { name: "api", port: Number(new URL(system.ready.url).port), pid: system.ready.pids.api! },
      ];
      for (const contestant of contestants) await runRound(system, contestant, targets, warmup);
      await compare(system, contestants, targets, busy);
      await compare(system, contestants, targets, quiet);
    } finally {
      bare.disconnect();
      await once(bare, "exit");
    }
  });
}

async function compare(
  system: System,
  contestants: readonly Contestant[],
  targets: readonly string[],
  load: Pick<Load, "connectionsCount" | "requestsCount">,
): Promise<void> {
  const rounds = new Map<string, Round[]>(contestants.map(({ name }) => [name, []]));
  for (let round = 0; round < roundsCount; round++) {
    for (const contestant of contestants) {
      rounds.get(contestant.name)?.push(await runRound(system, contestant, targets, load));
    }
  }
  const fields = ["requestsPerSecond", "medianMs", "p99Ms", "cpuMicrosPerRequest"] as const;
  const medians = [...rounds].map(([name, done]) => ({
    name,
    values: fields.map((field) => medianOf(done.map((round) => round[field]))),
    spread: `${Math.min(...done.map((round) => round.requestsPerSecond)).toFixed(0)}-${Math.max(...done.map((round) => round.requestsPerSecond)).toFixed(0)}`,
  }));
  const [bare, api] = medians;
  process.stdout.write(`\n${load.connectionsCount} connections, medians of ${roundsCount} rounds each\n`);
  printTable(
    ["", "requests/s", "median ms", "p99 ms", "CPU us/request", "requests/s min-max"],
    [
      ...medians.map(({ name, values, spread }) => [name, ...values, spread]),
      ["api / bare", ...(api?.values ?? []).map((value, index) => value / (bare?.values[index] ?? 1)), ""],
    ],
  );
}

async function runRound(
  { ready }: System,
  { port, pid }: Pick<Contestant, "port" | "pid">,
  targets: readonly string[],
  load: Pick<Load, "connectionsCount" | "requestsCount">,
): Promise<Round> {
  const requests = targets.map((target) => ({ method: "GET" as const, target }));
  const credentials = { key: ready.api_key, secret: ready.api_secret };
  const cpuBeforeMs = processorMs(pid);
  const { elapsedMs, latenciesMs } = await startLoad({ port, ...credentials, requests, statusExpected: 200, ...load });
  const cpuMs = processorMs(pid) - cpuBeforeMs;
  const sorted = latenciesMs.toSorted();
  return {
    requestsPerSecond: (load.requestsCount / elapsedMs) * 1000,
    medianMs: summarize([...latenciesMs]).median,
    p99Ms: sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN,
    cpuMicrosPerRequest: (cpuMs * 1000) / load.requestsCount,
  };
}

/** Inserts names for the sandbox's reseller. @returns the targets that read them */
async function insertNames(system: System): Promise<string[]> {
  await withDatabase(system, async (client) => {
    await client.query(
      `INSERT INTO domains (domain_name, reseller_id, registry_id, registration_date, expiration_date, registry_ex_date,
         will_renew, status)
       SELECT 'name-' || number || '.example', id, 'sandbox', now(), now() + interval '1 year', now() + interval '1 year',
         true, 'ok'
       FROM generate_series(1, $1::int) AS number, (SELECT id FROM resellers LIMIT 1) AS reseller`,
      [namesCount],
    );
    await client.query("VACUUM ANALYZE domains");
  });
  return Array.from({ length: namesCount }, (_, index) => `/domains/name-${index + 1}.example`);
}
