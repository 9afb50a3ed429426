import { EventEmitter } from "node:events";
import { Logger, type Runner, run, type TaskList, type WorkerEvents } from "graphile-worker";
import type { Pool } from "pg";
import type { Liveness } from "#jobs/liveness.ts";
import type { Log } from "#lib/log.ts";

/** How often the queue looks for jobs whose time has come; new ones are announced by NOTIFY. */
const pollIntervalMs = 1_000;

export interface JobRunnerOptions {
  pool: Pool;
  log: Log;
  liveness: Liveness;
  tasks: TaskList;
  /** Jobs at once. */
  jobsMax: number;
  /** Schedules, in crontab form; times are UTC. */
  crontab?: string;
}

/** Works on the jobs of the given tasks until it is stopped. */
export async function startJobRunner(options: JobRunnerOptions): Promise<Runner> {
  const { pool, log, liveness, tasks, jobsMax, crontab } = options;
  const events: WorkerEvents = new EventEmitter();
  events.on("worker:create", ({ worker }) => liveness.add(worker.workerId));
  return run({
    pgPool: pool,
    taskList: tasks,
    concurrency: jobsMax,
    pollInterval: pollIntervalMs,
    noHandleSignals: true,
    events,
    crontab: crontab ?? "",
    logger: new Logger((scope) => (level, message) => {
      // It reports each job's start and end as info.
      if (level === "error") log.error({ scope }, message);
      else if (level === "warning") log.warn({ scope }, message);
      else log.debug({ scope }, message);
    }),
  });
}
