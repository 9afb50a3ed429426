/**
 * Orders per second through everything (signed POST, api, database, worker, registry) beside the bare commands: the same check and
 * create for each name, sent by the same EPP client to the same registry, without a database. Rounds in turns on one running
 * system, so that other work on the machine affects both.
 */
import { readFileSync } from "node:fs";
import { sleep, systemClock } from "#lib/clock.ts";
import { createLog } from "#lib/log.ts";
import { systemRandom } from "#lib/random.ts";
import { Secret } from "#lib/secret.ts";
import { domainCreate } from "#registry/epp/commands/domain/create.ts";
import { createEppPool, type EppPool } from "#registry/epp/pool/pool.ts";
import { eppOptionsOf } from "#registry/epp-options.ts";
import { completeProfile } from "#registry/registries.ts";
import { startLoad } from "./load.ts";
import { familyProcessorMs, processorMs } from "./processor.ts";
import { medianOf, printTable, summarize } from "./statistics.ts";
import { type System, withDatabase, withSystem } from "./system.ts";

/** V8 keeps compiling for this many names; a service in operation is past that. */
const warmupNamesCount = 20_000;
const sessionsMax = 10;
/** Requests or commands in progress or waiting at any time, so that no part waits for the client. */
const clientsCount = 192;
/** More than any part can send, so that the limit has no effect. */
const commandsPerSecond = 1_000_000;
const endPollMs = 50;

/** The order that locks a new name would be carried out during the next round, at the cost of that one. */
const lockNoNames = `
  CREATE FUNCTION bench_lock_no_name() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN NEW.locks_name := false; RETURN NEW; END $$;
  CREATE TRIGGER bench_lock_no_name BEFORE INSERT ON orders
    FOR EACH ROW EXECUTE FUNCTION bench_lock_no_name()`;

interface Round {
  namesPerSecond: number;
  /** Microseconds of processor time for each name, by part. */
  cpuMicros: Record<string, number>;
}

/**
 * The registry's behaviour, by the label of the names (sandbox/registry/README.md). The sandbox alone answers as fast as it can,
 * on the same processors and disk; a registry behind a network is slower. A round has enough names that its start and end, when
 * some parts are idle, have little effect. There are enough rounds for a stable median: single rates differ by half.
 */
const registries = [
  { label: "", title: "the sandbox registry as it is", namesCount: 6_000, roundsCount: 9 },
  { label: "slow-5-", title: "the sandbox registry, each answer 5 ms later", namesCount: 3_000, roundsCount: 5 },
];

type Rounds = Record<"bare" | "pipeline", Round[]>;

export function benchPipeline(): Promise<void> {
  return withSystem(async (system) => {
    await withDatabase(system, (client) => client.query(lockNoNames));
    await runPipeline(system, "warm-up", warmupNamesCount);
    const pool = openPool(system);
    try {
      const contactId = await readContact(system);
      await runBare(system, pool, contactId, "warm-up-bare", warmupNamesCount);
      for (const { label, title, namesCount, roundsCount } of registries) {
        const rounds: Rounds = { bare: [], pipeline: [] };
        for (let number = 0; number < roundsCount; number++) {
          rounds.bare.push(await runBare(system, pool, contactId, `${label}bare-${number}`, namesCount));
          rounds.pipeline.push(await runPipeline(system, `${label}order-${number}`, namesCount));
        }
        process.stdout.write(`\n${title}\n`);
        report(rounds);
      }
    } finally {
      await pool.drain(1_000);
    }
  });
}

function report({ bare, pipeline }: Rounds): void {
  const ratios = pipeline.map(({ namesPerSecond }, index) => namesPerSecond / bare[index]!.namesPerSecond);
  printTable(
    ["names/s", ...bare.map((_, index) => `round ${index + 1}`), "median"],
    [
      ["bare commands", ...ratesOf(bare), medianOf(ratesOf(bare))],
      ["whole pipeline", ...ratesOf(pipeline), medianOf(ratesOf(pipeline))],
      ["pipeline / bare", ...ratios, medianOf(ratios)],
    ],
  );
  process.stdout.write("\nprocessor time for each name, medians\n");
  const parts = Object.keys(pipeline[0]?.cpuMicros ?? {});
  const cells = (rounds: Round[]) => parts.map((part) => medianOf(rounds.map(({ cpuMicros }) => cpuMicros[part] ?? 0)));
  printTable(
    ["us", ...parts],
    [
      ["bare commands", ...cells(bare)],
      ["whole pipeline", ...cells(pipeline)],
    ],
  );
}

const ratesOf = (rounds: Round[]) => rounds.map(({ namesPerSecond }) => namesPerSecond);

/** Measures `work`, which processes `count` names, from its call of `onStart`. */
async function measure({ ready }: System, count: number, work: (onStart: () => void) => Promise<void>): Promise<Round> {
  const parts: Record<string, () => number> = {
    api: () => processorMs(ready.pids.api!),
    worker: () => processorMs(ready.pids.worker!),
    PostgreSQL: () => familyProcessorMs(ready.pids.postgres!),
    registry: () => processorMs(ready.pids.registry!),
    "this process": () => processorMs(process.pid),
  };
  const read = () => Object.entries(parts).map(([name, readMs]) => [name, readMs()] as const);
  let before = new Map(read());
  let startedMs = systemClock.monotonicMs();
  await work(() => {
    before = new Map(read());
    startedMs = systemClock.monotonicMs();
  });
  const elapsedMs = systemClock.monotonicMs() - startedMs;
  const used = read().map(([name, cpuMs]) => [name, ((cpuMs - before.get(name)!) * 1000) / count] as const);
  return { namesPerSecond: (count / elapsedMs) * 1000, cpuMicros: Object.fromEntries(used) };
}

/** Measures from the first POST to the end of the last order; all must be Finished. */
async function runPipeline(system: System, prefix: string, count: number): Promise<Round> {
  const { ready } = system;
  const requests = namesOf(prefix, count).map((name) => ({
    method: "POST" as const,
    target: "/domains/registrations",
    body: { domain_name: name },
  }));
  return withDatabase(system, async (client) => {
    const round = await measure(system, count, async (onStart) => {
      const place = { port: Number(new URL(ready.url).port), key: ready.api_key, secret: ready.api_secret };
      const amounts = { requestsCount: count, connectionsCount: clientsCount };
      const { latenciesMs } = await startLoad({ ...place, ...amounts, requests, statusExpected: 202 }, onStart);
      const { median, p95 } = summarize([...latenciesMs]);
      const living =
        "SELECT EXISTS (SELECT FROM orders WHERE status IN ('NotProvisioned', 'Processing', 'Pending'))";
      while ((await client.query<{ exists: boolean }>(living)).rows[0]?.exists) await sleep(endPollMs);
      process.stdout.write(`${prefix}: 202 after ${median.toFixed(0)} ms (median), ${p95.toFixed(0)} ms (p95)\n`);
    });
    const finished = await client.query<{ count: string }>(
      "SELECT count(*) FROM domains WHERE domain_name LIKE $1 || '-%'",
      [prefix],
    );
    if (Number(finished.rows[0]?.count) !== count) throw new Error(`of ${count} orders not all are Finished`);
    return round;
  });
}

/** A pool besides the worker's, which is idle meanwhile. */
function openPool({ ready }: System): EppPool {
  const { host, port, ca_file: caFile, registrar_id: registrarId, password, suffixes } = ready.registry;
  const profile = completeProfile(
    {
      id: "sandbox",
      host,
      port,
      servername: "localhost",
      caFile,
      registrarId,
      password,
      sessionsMax,
      suffixes: [...suffixes],
      commandsPerSecond,
    },
    (path) => readFileSync(path, "utf8"),
  );
  const log = createLog("bench", "error");
  return createEppPool({ ...eppOptionsOf(profile), clock: systemClock, random: systemRandom, log });
}

/** The registrant that the worker has created for its orders. */
function readContact(system: System): Promise<string> {
  return withDatabase(system, async (client) => {
    const { rows } = await client.query<{ contact_id: string }>("SELECT contact_id FROM registry_contacts");
    if (!rows[0]) throw new Error("no order has made a contact");
    return rows[0].contact_id;
  });
}

/** One check and one create for each name, with all sessions busy all the time. */
function runBare(system: System, pool: EppPool, contactId: string, prefix: string, count: number): Promise<Round> {
  const names = namesOf(prefix, count).values();
  const drive = async () => {
    for (const name of names) {
      const { available } = await pool.checkDomain(name, { budgetMs: 10_000 });
      if (!available) throw new Error(`${name} is not available`);
      await createName(pool, name, contactId);
    }
  };
  return measure(system, count, async () => {
    await Promise.all(Array.from({ length: clientsCount }, drive));
  });
}

async function createName(pool: EppPool, name: string, contactId: string): Promise<void> {
  const command = domainCreate({
    name,
    periodYears: 1,
    registrant: contactId,
    contacts: [
      { type: "admin", id: contactId },
      { type: "tech", id: contactId },
    ],
    authInfo: new Secret(systemRandom.bytes(18).toString("base64url")),
  });
  using lease = await pool.acquire("transform", { waitMs: 10_000 });
  const { code, message } = await lease.request(command, { clTRID: `bench-${name}` });
  if (code !== 1000) throw new Error(`${name}: ${code} ${message}`);
}

const namesOf = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, index) => `${prefix}-${String(index).padStart(5, "0")}.example`);
