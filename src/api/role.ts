import { startAlarmMessages } from "#alarm-messages/machine.ts";
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import { rateWindowMs } from "#api/authenticate.ts";
import { type OpenGuard, openReplayGuard } from "#api/replay/open-guard.ts";
import type { ReplayGuard } from "#api/replay/replay.ts";
import { type ServerOptions, startServer, whyNotReady } from "#api/server.ts";
import { serverOptionsOf } from "#api/server-options.ts";
import { startThreads, type Threads } from "#api/threads/pool.ts";
import { buildContext, type OpenContext } from "#build-context.ts";
import { plainHttpMistakes } from "#checks/unsafe-settings.ts";
import type { Config } from "#config.ts";
import type { Context } from "#context.ts";
import { noteRestore } from "#events/log.ts";
import { followCertificate } from "#front/certificate.ts";
import { createCounts } from "#front/counts.ts";
import { startAgentEndpoint } from "#hosting/channel/agent-endpoint.ts";
import { type Clock, sleep, unixSeconds } from "#lib/clock.ts";
import { showing } from "#lib/measure/measure.ts";
import { sendSpans } from "#lib/measure/send-spans.ts";
import { startStatusListener } from "#lib/net/status-listener.ts";
import type { TlsPair } from "#lib/net/tls-pair.ts";
import { refuseMistakes } from "#lib/settings.ts";
import { readFacts } from "#metrics/facts.ts";
import { startMetrics } from "#metrics/metrics.ts";
import type { ThreadShare } from "#metrics/thread-shares.ts";
import type { Role } from "#role.ts";
import { createDatabaseWatch } from "#watch/database.ts";
import { lookAtDisks, ownLogFile } from "#watch/disk-space.ts";
import { lookAround, startWatch } from "#watch/look-around.ts";
import { watchLostCommits } from "#watch/lost-commits.ts";
import { recordProcess } from "#watch/processes.ts";

/** From SIGTERM on: then what is in progress is cut, and the rest of the time is for closing everything else. */
const finishMsMax = 25_000;

/** The role `api`. @throws WrongSetting when resellers would have to send in plain text over a network */
export async function startApi(config: Config): Promise<Role> {
  refuseMistakes(plainHttpMistakes(config));
  const context = buildContext(config, "api");
  const spans = await sendSpans(config.traces, "api", context.log);
  const { databaseUrl: url, databaseDemands: demands } = config;
  const databaseWatch = createDatabaseWatch(context, { url, demands, role: "api" });
  await databaseWatch.start();
  const processRow = await recordProcess(context, "api");
  const { clock, log } = context;
  await noteRestore(context);
  const losses = watchLostCommits(context);
  let front: Front | undefined;
  const nonces = await openReplayGuard(context, config, () => front?.tellRefusals());
  const { replayGuard, whyRefused, sharedCounts, threads } = nonces;
  const stopping = new AbortController();
  // The alarm about missing workers has to arrive without one.
  const alarmMessages = await startAlarmMessages(context, config.databaseUrl, config.alarmChannels);
  const state = { replayGuard, whyRefused, stopping: stopping.signal };
  const own = { role: "api", whyNotReady: () => whyNotReady(context, state) ?? front?.whyNotReady(), log };
  const metrics = startMetrics({
    ...own,
    clock,
    stopping: stopping.signal,
    readFacts: () => readFacts(context),
    others: () => front?.shares(),
  });
  showNonces(replayGuard, clock);
  front = await startFront(context, config, { ...state, sharedCounts, threads });
  const server = front;
  const unfollow = followOwnCertificate(context, config, server);
  await reportPlainHttp(context, config);
  log.info({ port: server.port }, "the API is listening");
  const agentEndpoint =
    config.agentEndpoint &&
    (await startAgentEndpoint(context, { ...config.agentEndpoint, shares: config.sourceShares }));
  const status = await startStatusListener(config.status, { ...own, pages: { "/metrics": metrics.page } });
  const watch = startWatch(context, async () => {
    await databaseWatch.look();
    server.tellRefusals();
    await lookAround(context);
    await nonces.look();
    const journalDir = config.nonces === "journal" ? [config.replayDir] : [];
    await lookAtDisks(context, [...journalDir, ...ownLogFile(), ...config.diskFolders]);
  });
  return {
    ready: { port: server.port, ...(agentEndpoint && { nodesPort: agentEndpoint.port }), ...status.ready },
    unfinished: () => `${server.inProgress()} requests`,
    async close() {
      stopping.abort();
      server.drain();
      log.info({ forMs: config.drainMs }, "the API drains: it answers, closes connections, and is not ready");
      // A load balancer learns it from /readyz, and sends no new request when the port closes.
      await sleep(config.drainMs);
      unfollow?.();
      const [cut] = await Promise.all([
        server.close(finishMsMax - config.drainMs),
        agentEndpoint?.close(),
        watch.close(),
        alarmMessages.close(),
        losses.close(),
      ]);
      if (cut > 0) log.warn({ requests: cut }, "requests in progress were cut, because the API stops");
      await nonces.close();
      await Promise.all([status.close(), processRow.close()]);
      metrics.close();
      await spans.close();
      await context.close();
    },
  };
}

/** What answers the requests of resellers: this thread, or others. */
type Front = Omit<Threads, "shares"> & { shares(): Promise<ThreadShare[]> | undefined };

type FrontState = Pick<ServerOptions, "replayGuard" | "whyRefused" | "stopping"> &
  Pick<OpenGuard, "sharedCounts" | "threads">;

async function startFront(context: OpenContext, config: Config, front: FrontState): Promise<Front> {
  const { threads, sharedCounts, ...state } = front;
  const { apiThreads: count, apiPort: port } = config;
  const { log, database, clock } = context;
  if (count > 1 && threads) {
    const refusals = () => ({ database: database.refusal(), nonces: state.whyRefused?.() });
    return startThreads({ count, port, guard: threads, log, refusals });
  }
  // Reading the bundled list takes a tenth of a second, in which no request would be answered.
  await context.commonPasswords();
  const counts = createCounts({ clock, windowMs: rateWindowMs }, sharedCounts);
  const server = await startServer(context, { ...serverOptionsOf(config), ...state, counts });
  return { ...server, shares: () => undefined, whyNotReady: () => undefined, tellRefusals() {} };
}

function followOwnCertificate(context: Context, { apiTls }: Config, front: Front): (() => void) | undefined {
  const serve = (pair: TlsPair) => front.useCertificate(pair);
  return apiTls && followCertificate(context, { subject: "the api", served: apiTls, serve });
}

function showNonces(guard: ReplayGuard, clock: Clock): void {
  const { mode } = guard;
  showing("nonces_kept", () => [[{ mode }, guard.kept()]]);
  const aheadSeconds = () => Math.max(0, guard.horizonSeconds() + 1 - unixSeconds(clock));
  showing("nonce_horizon_ahead_seconds", () => [[{ mode }, aheadSeconds()]]);
}

/** Plain HTTP that the operator allows stays an alarm as long as it is in use. */
async function reportPlainHttp(context: Context, { plainHttp }: Config): Promise<void> {
  const alarm = { kind: "plain-http", subject: "the api" } as const;
  if (plainHttp === "no") await resolveAlarm(context, alarm);
  else await raiseAlarm(context, { ...alarm, note: "requests and answers go over the network in plain text" });
}
