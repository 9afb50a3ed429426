/**
 * Signed reads of an api that keeps nonces and counts requests in the database, beside one with a journal: in turns, each with a
 * database of its own on one server, because the two exclude each other. `npm run bench -- nonces short` runs a tenth of it, to see
 * that it works.
 */
import { migrate } from "#db/migrate.ts";
import { startApiProcess } from "../test/harness/api-process.ts";
import type { Scope } from "../test/harness/database.ts";
import { startTestGateway, type TestReseller } from "../test/harness/gateway.ts";
import { insertDomains } from "../test/harness/insert-domains.ts";
import { runSql } from "../test/harness/sql.ts";
import { startOwnServer, startStandby } from "../test/harness/standby.ts";
import { startLoad } from "./load.ts";
import { processorMs } from "./processor.ts";
import { setReplica } from "./replica.ts";
import { medianOf, printTable, summarize } from "./statistics.ts";
import { withScope } from "./system.ts";

const share = process.argv[3] === "short" ? 0.1 : 1;
const roundsCount = 8;
const busy = { connectionsCount: 32, requestsCount: 12_000 * share };
const lone = { connectionsCount: 1, requestsCount: 1_500 * share };
const logged = { connectionsCount: 32, requestsCount: 200_000 * share };
const million = 1_000_000;
const names = Array.from({ length: 1_000 }, (_, number) => `name-${number}.example`);
const requestsPerMinuteMax = 1_000_000_000;
const serverSettings = { fsync: "on", max_connections: "80" };

interface Contestant {
  port: number;
  pid: number;
  reseller: TestReseller;
}

interface Round {
  requestsPerSecond: number;
  medianMs: number;
  cpuMicrosPerRequest: number;
}

const fields = ["requestsPerSecond", "medianMs", "cpuMicrosPerRequest"] as const;

async function startContestant(scope: Scope, databaseUrl: string, nonces: string): Promise<Contestant> {
  await migrate(databaseUrl);
  const gateway = await startTestGateway(scope, { databaseUrl, worker: false });
  const reseller = await gateway.addReseller({ rateLimit: requestsPerMinuteMax });
  await insertDomains(databaseUrl, reseller, names);
  await runSql(databaseUrl, "VACUUM ANALYZE domains");
  const api = await startApiProcess(scope, gateway, databaseUrl, { DEEDHOUSE_NONCES: nonces });
  return { port: Number(new URL(api.url).port), pid: api.pid!, reseller };
}

async function runRound(
  { port, pid, reseller: { key } }: Contestant,
  load: { connectionsCount: number; requestsCount: number },
): Promise<Round> {
  const cpuBeforeMs = processorMs(pid);
  const { elapsedMs, latenciesMs } = await startLoad({
    port,
    key: key.id,
    secret: key.secret.reveal(),
    statusExpected: 200,
    requests: names.map((name) => ({ method: "GET" as const, target: `/domains/${name}` })),
    ...load,
  });
  return {
    requestsPerSecond: (load.requestsCount / elapsedMs) * 1000,
    medianMs: summarize([...latenciesMs]).median,
    cpuMicrosPerRequest: ((processorMs(pid) - cpuBeforeMs) * 1000) / load.requestsCount,
  };
}

async function compare(
  about: string,
  [journal, database]: readonly [Contestant, Contestant],
  load: { connectionsCount: number; requestsCount: number },
): Promise<void> {
  const rounds: [Round, Round][] = [];
  for (let round = 0; round < roundsCount; round++) {
    rounds.push([await runRound(journal, load), await runRound(database, load)]);
  }
  const cells = (value: (round: [Round, Round], field: (typeof fields)[number]) => number) =>
    fields.map((field) => medianOf(rounds.map((round) => value(round, field))));
  process.stdout.write(`\n${about}, medians of ${roundsCount} rounds each\n`);
  printTable(
    ["", "requests/s", "median ms", "CPU us/request"],
    [
      ["journal", ...cells(([round], field) => round[field])],
      ["database", ...cells(([, round], field) => round[field])],
      ["database / journal", ...cells(([before, after], field) => after[field] / before[field])],
      ["database - journal", ...cells(([before, after], field) => after[field] - before[field])],
    ],
  );
}

/** What a million reads write to PostgreSQL's log, with all else that happens meanwhile. */
async function measureLog(url: string, contestant: Contestant): Promise<void> {
  const [before] = await runSql<{ lsn: string }>(url, "SELECT pg_current_wal_insert_lsn()::text AS lsn");
  await runRound(contestant, logged);
  const written = "SELECT (pg_current_wal_insert_lsn() - $1::pg_lsn)::float8 AS bytes";
  const [{ bytes }] = (await runSql<{ bytes: number }>(url, written, [before!.lsn])) as [{ bytes: number }];
  const perRead = bytes / logged.requestsCount;
  process.stdout.write("\n");
  printTable(
    ["PostgreSQL's log", "reads", "bytes a read", "MB a million"],
    [["database", logged.requestsCount, perRead, (perRead * million) / 1e6]],
  );
}

async function run(scope: Scope): Promise<void> {
  const primary = await startOwnServer(scope, serverSettings);
  await runSql(primary.url, "CREATE DATABASE journal");
  const journalUrl = Object.assign(new URL(primary.url), { pathname: "/journal" }).href;
  const contestants = [
    await startContestant(scope, journalUrl, "journal"),
    await startContestant(scope, primary.url, "database"),
  ] as const;
  for (const contestant of contestants) await runRound(contestant, busy);
  await compare("32 connections", contestants, busy);
  await measureLog(primary.url, contestants[1]);
  await startStandby(scope, primary, primary.port, serverSettings);
  await setReplica({ primaryUrl: primary.url }, "*", "sync");
  await compare("1 connection, a synchronous replica on the same machine", contestants, lone);
}

export const benchNonces = (): Promise<void> => withScope(run);
