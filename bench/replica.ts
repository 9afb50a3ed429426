/**
 * Registrations through two apis and a worker, as separate processes, with a synchronous replica. In turns on one running system: no
 * commit waits for the replica, and all commits wait for it while the network delivers everything 2 ms later, each way.
 */
import { migrate } from "#db/migrate.ts";
import { sleep, systemClock } from "#lib/clock.ts";
import { type ApiProcess, startApiProcess } from "../test/harness/api-process.ts";
import type { Scope } from "../test/harness/database.ts";
import type { TestReseller } from "../test/harness/gateway.ts";
import { runSql } from "../test/harness/sql.ts";
import { startOwnServer, startStandby } from "../test/harness/standby.ts";
import { startWithWorkers } from "../test/orders/worker-process.ts";
import { startLoad } from "./load.ts";
import { startSlowNetwork } from "./slow-network.ts";
import { medianOf, printTable, summarize } from "./statistics.ts";
import { withScope } from "./system.ts";

const delayMs = 2;
const roundsCount = 5;
const namesPerApi = 600;
const connectionsPerApi = 32;
const warmupNamesPerApi = 1_000;
const endPollMs = 50;
/** More than any part can do, so that the limits have no effect. */
const commandsPerSecond = 1_000_000;
const requestsPerMinuteMax = 1_000_000_000;

export const benchReplica = (): Promise<void> => withScope(run);

interface Stage {
  primaryUrl: string;
  apis: [ApiProcess, TestReseller][];
}

async function start(scope: Scope): Promise<Stage> {
  const settings = { fsync: "on", max_connections: "80" };
  const primary = await startOwnServer(scope, settings);
  await migrate(primary.url);
  const network = await startSlowNetwork(primary.port, delayMs);
  scope.after(network.close);
  await startStandby(scope, primary, network.port, settings);
  const workers = await startWithWorkers(scope, { databaseUrl: primary.url, profile: { commandsPerSecond } });
  const { gateway } = workers;
  await workers.start();
  const apis: Stage["apis"] = [];
  for (let number = 0; number < 2; number++) {
    const api = await startApiProcess(scope, gateway, primary.url, { DEEDHOUSE_NONCES: "database" });
    apis.push([api, await gateway.addReseller({ rateLimit: requestsPerMinuteMax })]);
  }
  return { primaryUrl: primary.url, apis };
}

/** @param names the standbys that a commit waits for */
export async function setReplica(
  { primaryUrl }: { primaryUrl: string },
  names: string,
  state: "sync" | "async",
): Promise<void> {
  await runSql(primaryUrl, `ALTER SYSTEM SET synchronous_standby_names = '${names}'`);
  await runSql(primaryUrl, "SELECT pg_reload_conf()");
  const isSo = `SELECT FROM pg_stat_replication WHERE sync_state = '${state}'`;
  while ((await runSql(primaryUrl, isSo)).length === 0) await sleep(endPollMs);
}

/** Registrations a second: from the first POST to the last 202, and to the end of the last order. */
interface Round {
  accepted: number;
  finished: number;
  latencyMs: number;
}

async function runRound({ primaryUrl, apis }: Stage, label: string, count: number): Promise<Round> {
  const startedMs = systemClock.monotonicMs();
  const results = await Promise.all(
    apis.map(([api, { key }], number) =>
      startLoad({
        port: Number(new URL(api.url).port),
        key: key.id,
        secret: key.secret.reveal(),
        statusExpected: 202,
        connectionsCount: connectionsPerApi,
        requestsCount: count,
        requests: Array.from({ length: count }, (_, index) => ({
          method: "POST" as const,
          target: "/domains/registrations",
          body: { domain_name: `${label}-${number}-${index}.example` },
        })),
      }),
    ),
  );
  const acceptedMs = Math.max(...results.map(({ elapsedMs }) => elapsedMs));
  const living = "SELECT FROM orders WHERE ended_at IS NULL LIMIT 1";
  while ((await runSql(primaryUrl, living)).length > 0) await sleep(endPollMs);
  const perSecond = (ms: number) => (apis.length * count * 1_000) / ms;
  return {
    accepted: perSecond(acceptedMs),
    finished: perSecond(systemClock.monotonicMs() - startedMs),
    latencyMs: summarize(results.flatMap(({ latenciesMs }) => [...latenciesMs])).median,
  };
}

async function run(scope: Scope): Promise<void> {
  const stage = await start(scope);
  await runRound(stage, "warm", warmupNamesPerApi);
  const without: Round[] = [];
  const behind: Round[] = [];
  for (let number = 0; number < roundsCount; number++) {
    await setReplica(stage, "", "async");
    without.push(await runRound(stage, `without-${number}`, namesPerApi));
    await setReplica(stage, "*", "sync");
    behind.push(await runRound(stage, `behind-${number}`, namesPerApi));
  }
  const cells = (rounds: Round[]) =>
    (["accepted", "finished", "latencyMs"] as const).map((figure) => medianOf(rounds.map((round) => round[figure])));
  printTable(
    ["medians", "202/s", "Finished/s", "ms to 202"],
    [
      ["no commit waits", ...cells(without)],
      [`a replica ${delayMs} ms away`, ...cells(behind)],
    ],
  );
}
