/**
 * Signed reads, in turns on one PostgreSQL: an api with one thread beside the same of an older commit, and what a second thread gains beside
 * what a second bare process gains. An api with a journal serves its database alone, so each has a database of its own.
 */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { migrate } from "#db/migrate.ts";
import { startApiProcess } from "../test/harness/api-process.ts";
import type { Scope } from "../test/harness/database.ts";
import { startTestGateway } from "../test/harness/gateway.ts";
import { insertDomains } from "../test/harness/insert-domains.ts";
import { releaseAt } from "../test/harness/release-trees.ts";
import { runSql } from "../test/harness/sql.ts";
import { type OwnServer, startOwnServer } from "../test/harness/standby.ts";
import { startLoad } from "./load.ts";
import { processorMs } from "./processor.ts";

import { medianOf, printTable } from "./statistics.ts";
import { withScope } from "./system.ts";

const beforeDefault = "main";
const namesCount = 500;
const roundsCount = 9;
/** Of all processes of a contestant together. The kernel shares connections out unevenly, so there are many. */
const connectionsCount = 64;
const requestsCount = 6_000;
const warmupRounds = 2;
const requestsPerMinuteMax = 1_000_000_000;

const names = Array.from({ length: namesCount }, (_, index) => `name-${index}.example`);

interface Contestant {
  name: string;
  ports: number[];
  pids: number[];
  key: { id: string; secret: string };
}

interface Round {
  perSecond: number;
  cpuMicros: number;
}

async function startStage(scope: Scope, server: OwnServer, database: string) {
  await runSql(server.url, `CREATE DATABASE ${database}`);
  const url = new URL(server.url);
  url.pathname = `/${database}`;
  await migrate(url.href);
  const gateway = await startTestGateway(scope, { databaseUrl: url.href, worker: false });
  const reseller = await gateway.addReseller({ rateLimit: requestsPerMinuteMax });
  await insertDomains(url.href, reseller, names);
  return { gateway, key: { id: reseller.key.id, secret: reseller.key.secret.reveal() } };
}

async function startApi(
  scope: Scope,
  server: OwnServer,
  { name, threads, entry }: { name: string; threads: number; entry?: string },
): Promise<Contestant> {
  const { gateway, key } = await startStage(scope, server, name);
  const settings: Record<string, string> = threads > 1 ? { DEEDHOUSE_API_THREADS: String(threads) } : {};
  const api = await startApiProcess(scope, gateway, gateway.databaseUrl, settings, entry);
  return { name, ports: [Number(new URL(api.url).port)], pids: [api.pid!], key };
}

async function startBare(scope: Scope, server: OwnServer, processes: number): Promise<Contestant> {
  const name = `bare_${processes}`;
  const { gateway, key } = await startStage(scope, server, name);
  const program = fileURLToPath(new URL("bare-server.ts", import.meta.url));
  const children = Array.from({ length: processes }, () => fork(program, [gateway.databaseUrl, key.secret]));
  scope.after(() =>
    Promise.all(
      children.map((child) => {
        child.disconnect();
        return once(child, "exit");
      }),
    ),
  );
  const said = await Promise.all(children.map((child) => once(child, "message")));
  return { name, ports: said.map(([{ port }]) => port), pids: children.map(({ pid }) => pid!), key };
}

async function runRound({ ports, pids, key }: Contestant): Promise<Round> {
  const cpuMs = () => pids.reduce((sum, pid) => sum + processorMs(pid), 0);
  const beforeMs = cpuMs();
  const results = await Promise.all(
    ports.map((port) =>
      startLoad({
        port,
        key: key.id,
        secret: key.secret,
        requests: names.map((name) => ({ method: "GET" as const, target: `/domains/${name}` })),
        statusExpected: 200,
        connectionsCount: connectionsCount / ports.length,
        requestsCount: requestsCount / ports.length,
      }),
    ),
  );
  const elapsedMs = Math.max(...results.map((result) => result.elapsedMs));
  return {
    perSecond: (requestsCount * 1_000) / elapsedMs,
    cpuMicros: ((cpuMs() - beforeMs) * 1_000) / requestsCount,
  };
}

export const benchThreads = (): Promise<void> => withScope(run);

async function run(scope: Scope): Promise<void> {
  const server = await startOwnServer(scope, { fsync: "on", max_connections: "200" });
  const commit = process.env.DEEDHOUSE_TEST_BEFORE ?? beforeDefault;
  const { entry } = await releaseAt(scope, commit);
  const contestants = [
    await startApi(scope, server, { name: "before", threads: 1, entry }),
    await startApi(scope, server, { name: "one_thread", threads: 1 }),
    await startApi(scope, server, { name: "two_threads", threads: 2 }),
    await startBare(scope, server, 1),
    await startBare(scope, server, 2),
  ];
  const rounds = new Map<string, Round[]>(contestants.map(({ name }) => [name, []]));
  for (let number = -warmupRounds; number < roundsCount; number++) {
    // The other way round each time: who comes after a slow one has no advantage.
    for (const contestant of number % 2 === 0 ? contestants : contestants.toReversed()) {
      const round = await runRound(contestant);
      if (number >= 0) rounds.get(contestant.name)!.push(round);
    }
  }
  const values = (name: string, figure: keyof Round) => rounds.get(name)!.map((round) => round[figure]);
  printTable(
    ["medians", "requests/s", "min", "max", "processor µs"],
    contestants.map(({ name }) => {
      const perSecond = values(name, "perSecond");
      const [min, max] = [Math.min(...perSecond), Math.max(...perSecond)];
      return [name, medianOf(perSecond), min, max, medianOf(values(name, "cpuMicros"))];
    }),
  );
  /** The median of the rounds' ratios. */
  const ratio = (name: string, beside: string, figure: keyof Round) =>
    medianOf(values(name, figure).map((value, number) => value / values(beside, figure)[number]!));
  const gains = {
    threads: ratio("two_threads", "one_thread", "perSecond"),
    bare: ratio("bare_2", "bare_1", "perSecond"),
  };
  printTable(
    ["ratios of rounds, medians", "requests/s", "processor µs"],
    [
      [
        "one thread beside before",
        ratio("one_thread", "before", "perSecond"),
        ratio("one_thread", "before", "cpuMicros"),
      ],
      ["two threads beside one", gains.threads, ratio("two_threads", "one_thread", "cpuMicros")],
      ["two bare processes beside one", gains.bare, ratio("bare_2", "bare_1", "cpuMicros")],
      ["gain of threads beside that of bare processes", gains.threads / gains.bare, ""],
    ],
  );
}
