/**
 * A thread of an api that answers requests of resellers, with an event loop, connections and a listener of its own. What it decides about
 * nonces and limits is in memory that all of them share. The first thread has everything else (src/api/role.ts).
 */
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { rateWindowMs } from "#api/authenticate.ts";
import { createReplayGuard } from "#api/replay/replay.ts";
import { startServer, whyNotReady } from "#api/server.ts";
import { serverOptionsOf } from "#api/server-options.ts";
import { beatMs, type FromThread, type ThreadData, type ToThread, vitalAt } from "#api/threads/messages.ts";
import { buildContext } from "#build-context.ts";
import { loadConfig } from "#config.ts";
import type { HttpServer } from "#front/http-server.ts";
import { joinCounts } from "#front/thread-counts.ts";
import { sendSpans } from "#lib/measure/send-spans.ts";
import { reportDefect } from "#lib/report-defect.ts";
import { startMetrics } from "#metrics/metrics.ts";
import { watchLostCommits } from "#watch/lost-commits.ts";

async function run(port: MessagePort, data: ThreadData): Promise<void> {
  const { thread, nonces: memory } = data;
  const config = loadConfig();
  const context = buildContext(config, "api");
  const { clock, log } = context;
  const spans = await sendSpans(config.traces, "api", log);
  const losses = watchLostCommits(context);
  const { signatureWindowSeconds: windowSeconds, replayDir: journalDir } = config;
  const replayGuard = createReplayGuard({ journalDir, clock, log, windowSeconds, memory, thread });
  replayGuard.join();
  await context.commonPasswords();
  let { refusals } = data;
  context.database.refuse(refusals.database);
  const stopping = new AbortController();
  const options = {
    ...serverOptionsOf(config),
    port: data.port,
    replayGuard,
    counts: joinCounts(data.counts, thread, { clock, windowMs: rateWindowMs }),
    whyRefused: () => refusals.nonces,
    stopping: stopping.signal,
  };
  const own = { role: "api", clock, log, whyNotReady: () => whyNotReady(context, options), stopping: stopping.signal };
  const metrics = startMetrics(own);
  const say = (message: FromThread) => port.postMessage(message);
  const server = await startServer(context, options);
  const stopBeating = beat(data, server);

  async function close(graceMs: number): Promise<void> {
    const [cut] = await Promise.all([server.close(graceMs), losses.close()]);
    replayGuard.close();
    metrics.close();
    await spans.close();
    await context.close();
    stopBeating();
    say({ is: "closed", cut });
    port.close();
  }

  async function take(message: ToThread): Promise<void> {
    if (message.is === "refusals") {
      refusals = message.refusals;
      context.database.refuse(refusals.database);
    } else if (message.is === "certificate") server.useCertificate(message.pair);
    else if (message.is === "measure") say({ is: "measured", number: message.number, share: await metrics.share() });
    else if (message.is === "close") await close(message.graceMs);
    else {
      stopping.abort();
      server.drain();
    }
  }

  port.on("message", (message: ToThread) => {
    take(message).catch(reportDefect);
  });
  say({ is: "ready", port: server.port });
}

/** A thread whose event loop is blocked does not beat. @returns ends it */
function beat({ thread, vitals }: ThreadData, server: HttpServer): () => void {
  const words = new Int32Array(vitals);
  const at = vitalAt(thread);
  const timer = setInterval(() => {
    Atomics.add(words, at.beats, 1);
    Atomics.store(words, at.inProgress, server.inProgress());
  }, beatMs);
  return () => clearInterval(timer);
}

await run(parentPort!, workerData as ThreadData);
