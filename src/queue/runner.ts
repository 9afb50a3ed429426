import { EventEmitter } from "node:events";
import { Logger, type Runner, run, type TaskList, type WorkerEvents, type WorkerPool } from "graphile-worker";
import type { Pool } from "pg";
import type { Listener } from "#db/listener.ts";
import { sleep } from "#lib/clock.ts";
import type { Log } from "#lib/log.ts";
import type { Liveness } from "#locks/liveness.ts";

/** How often the queue looks for jobs whose time has come; new ones are announced by NOTIFY. */
const pollIntervalMs = 1_000;
const restartMs = 1_000;
/** Its payload: the task. */
const jobCalledChannel = "job_called";

export interface JobRunnerOptions {
  pool: Pool;
  log: Log;
  liveness: Liveness;
  tasks: TaskList;
  /** Jobs at once. */
  jobsMax: number;
  /**
   * Jobs taken together, also before there is room for them: one statement for many, for one process that does them all.
   * Default 0: each is taken when there is room for it, so that busy and idle processes share them.
   */
  jobsAhead?: number;
  /**
   * Where the queue hears of its new jobs (call_job in db/migrations). Without it it listens by a connection of its own, which
   * every notification of the database wakes: some 25 us of PostgreSQL's time an order.
   */
  calls?: Pick<Listener, "on">;
  /** Schedules, in crontab form; times are UTC. */
  crontab?: string;
}

export interface JobRunner {
  /** Takes no more jobs, and waits for those under way. Never throws. */
  stop(): Promise<void>;
}

/**
 * Works on the jobs of the given tasks until it is stopped. A queue that gives up, as it does when it cannot write down
 * how a job ended, is started again.
 * @throws the driver's error when the queue cannot be started the first time
 */
export async function startJobRunner(options: JobRunnerOptions): Promise<JobRunner> {
  const stopped = new AbortController();
  let current = await startQueue(options);

  async function keepRunning(): Promise<void> {
    for (;;) {
      await current.ended;
      if (stopped.signal.aborted) return;
      options.log.warn({ tasks: Object.keys(options.tasks) }, "the job queue stopped by itself and is started again");
      await sleep(restartMs, stopped.signal);
      if (stopped.signal.aborted) return;
      current = await startQueue(options).catch((error: unknown) => {
        options.log.warn({ err: error }, "the job queue could not be started");
        return { ended: Promise.resolve(), look() {}, stop: async () => {} };
      });
      if (stopped.signal.aborted) await current.stop();
    }
  }

  const running = keepRunning();
  const stopListening = options.calls?.on(jobCalledChannel, (task) => task in options.tasks && current.look());
  return {
    async stop() {
      stopListening?.();
      stopped.abort();
      await current.stop();
      await running;
    },
  };
}

interface Queue {
  ended: Promise<void>;
  /** There may be a new job. */
  look(): void;
  stop(): Promise<void>;
}

async function startQueue({
  pool,
  log,
  liveness,
  tasks,
  jobsMax,
  jobsAhead = 0,
  calls,
  crontab,
}: JobRunnerOptions): Promise<Queue> {
  const events: WorkerEvents = new EventEmitter();
  let workerPool: WorkerPool | undefined;
  events.on("pool:create", (created) => {
    workerPool = created.workerPool;
    liveness.add(workerPool.id);
  });
  // The event comes just before the queue listens, and again for each connection that replaces one.
  if (calls)
    events.on("pool:listen:success", ({ client }) => queueMicrotask(() => client.query("UNLISTEN *", () => {})));
  // A queue that is stopped takes itself for done before it has handed back what it took ahead (graphile-worker 0.18.0,
  // LocalQueue.setModeReleased): nobody awaits that, and an error there ends the process. Counted as under way until the queue
  // counts it itself, it is waited for.
  events.on("localQueue:returnJobs", ({ localQueue }) => {
    const queue = localQueue as unknown as { backgroundCount: number; decreaseBackgroundCount(): void };
    queue.backgroundCount += 1;
    queueMicrotask(queue.decreaseBackgroundCount);
  });
  const runner: Runner = await run({
    pgPool: pool,
    taskList: tasks,
    concurrency: jobsMax,
    pollInterval: pollIntervalMs,
    noHandleSignals: true,
    // Without batches the ends of jobs are written by promises that nobody awaits, and an error there ends the process.
    preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0, localQueue: { size: jobsAhead } } },
    events,
    crontab: crontab ?? "",
    logger: new Logger((scope) => (level, message) => {
      // It reports each job's start and end as info.
      if (level === "error") log.error({ scope }, message);
      else if (level === "warning") log.warn({ scope }, message);
      else log.debug({ scope }, message);
    }),
  });
  const ended = runner.promise
    .catch((error: unknown) => log.warn({ err: error }, "the job queue failed"))
    .finally(() => workerPool && liveness.remove(workerPool.id));
  return {
    ended,
    // One notification may stand for several jobs.
    look: () => workerPool?.nudge(jobsMax),
    async stop() {
      // It throws when it is stopping already.
      await runner.stop().catch(() => {});
      await ended;
    },
  };
}
