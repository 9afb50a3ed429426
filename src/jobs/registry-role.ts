/**
 * The owner of a registry's EPP sessions: it holds the registry's lock, begins that registry's orders, runs their steps, answers the
 * api's questions about names, and does the registry's chores. A successor waits for the lock, which PostgreSQL frees when
 * the owner's connection ends; what the owner may have sent stands in the attempt rows.
 */
import type { Pool } from "pg";
import type { Context } from "#context.ts";
import type { RegistrySessions } from "#domains/registry-sessions.ts";
import { orderTask, renewalTask } from "#jobs/enqueue.ts";
import { forgottenOrdersSearch } from "#jobs/forgotten-orders.ts";
import type { Liveness } from "#jobs/liveness.ts";
import { askUntilLost, connectForLocks, createLockClient } from "#jobs/lock-connection.ts";
import { beginNewOrders } from "#jobs/new-orders.ts";
import { type OrderStep, orderSteps } from "#jobs/order-steps.ts";
import { ownerLockClass } from "#jobs/owner-lock.ts";
import { answerChecks } from "#jobs/registry-checks.ts";
import { doChores } from "#jobs/registry-chores.ts";
import { createLoginWatch } from "#jobs/registry-logins.ts";
import { openRegistryPool } from "#jobs/registry-pool.ts";
import { answerProbes } from "#jobs/registry-probe.ts";
import { renewalStepTask } from "#jobs/renewal-steps.ts";
import { type JobRunner, startJobRunner } from "#jobs/runner.ts";
import { sleep } from "#lib/clock.ts";
import type { RegistryProfile } from "#registry/registries.ts";

const reconnectMs = 500;
/**
 * What cut this process's connection may have cut its predecessor's too, by which that says what it has begun: so long that one has
 * to say it again (its connection takes 500 to 1,500 ms, liveness.ts) before its orders are taken for nobody's.
 */
const predecessorBackMs = 2_000;
const drainMs = 10_000;
/**
 * While one order's command is on its way, others read and write the database, together with as many as can be gathered: sessions
 * should never wait for that (bench/README.md).
 */
const ordersPerSession = 12;
/** New orders, and as many jobs: together they fit into the line for sessions (src/registry/epp/waiting-line.ts). */
const ordersAtOnceMax = 400;

const lockKey = `${ownerLockClass}, hashtext($1)`;
const lockSql = `SELECT pg_advisory_lock(${lockKey})`;
const tryLockSql = `SELECT pg_try_advisory_lock(${lockKey}) AS is_owner`;

export interface RegistryRoleOptions {
  context: Context;
  profile: RegistryProfile;
  databaseUrl: string;
  jobPool: Pool;
  liveness: Liveness;
}

export interface RegistryRole {
  /** Resolves when this process is the owner, or knows that it is not, for whatever reason. */
  started: Promise<void>;
  close(): Promise<void>;
}

/** Waits to become the registry's owner, and is it until `close` or until the database connection ends. */
export function startRegistryRole(options: RegistryRoleOptions): RegistryRole {
  const { context, profile, databaseUrl } = options;
  const stopped = new AbortController();
  const started = Promise.withResolvers<void>();

  async function holdLock(isAgain: boolean): Promise<void> {
    const connection = createLockClient(databaseUrl, `deedhouse-owner-${profile.id}`);
    const lost = new AbortController();
    connection.on("error", () => lost.abort());
    connection.on("end", () => lost.abort());
    const end = () => void connection.end().catch(() => {});
    stopped.signal.addEventListener("abort", end);
    try {
      await connectForLocks(connection);
      if (isAgain) await sleep(predecessorBackMs, stopped.signal);
      const { rows } = await connection.query<{ is_owner: boolean }>(tryLockSql, [profile.id]);
      started.resolve();
      if (!rows[0]?.is_owner) await connection.query(lockSql, [profile.id]);
      context.log.info({ registry: profile.id }, "this process owns the registry's sessions");
      // The lock is given up only after the last session is closed.
      stopped.signal.removeEventListener("abort", end);
      const ended = AbortSignal.any([lost.signal, stopped.signal]);
      askUntilLost(connection, ended).then(() => {
        if (!stopped.signal.aborted) lost.abort();
      });
      await own(options, ended, lost.signal);
    } finally {
      stopped.signal.removeEventListener("abort", end);
      end();
    }
  }

  async function run(): Promise<void> {
    for (let isAgain = false; !stopped.signal.aborted; isAgain = true) {
      await holdLock(isAgain).catch((error: unknown) => {
        if (!stopped.signal.aborted) context.log.warn({ err: error, registry: profile.id }, "the owner's role ended");
      });
      started.resolve();
      await sleep(reconnectMs, stopped.signal);
    }
  }

  const running = run();
  return {
    started: started.promise,
    async close() {
      stopped.abort();
      await running;
    },
  };
}

/** @param lost fires when the lock is gone, and may be a successor's: then nothing new is sent */
async function own(options: RegistryRoleOptions, ended: AbortSignal, lost: AbortSignal): Promise<void> {
  const { context, profile } = options;
  const logins = createLoginWatch(context, profile);
  const pool = await openRegistryPool(context, profile, logins.hear);
  const drain = () => pool.drain(drainMs);
  lost.addEventListener("abort", drain);
  if (lost.aborted) drain();
  const sessions: RegistrySessions = {
    context,
    profile,
    pool,
    contacts: new Map(),
    createsDone: 0,
    queryClTrid: () => `Q-${context.random.bytes(9).toString("base64url")}`,
  };
  const step = orderSteps(sessions);
  const atOnceMax = Math.min(profile.sessionsMax * ordersPerSession, ordersAtOnceMax);
  const newOrders = await beginNewOrders({ sessions, step, liveness: options.liveness, ordersMax: atOnceMax });
  const stopAnswering = answerChecks(sessions);
  const stopProbing = answerProbes(sessions);
  const searchForgotten = forgottenOrdersSearch(sessions, newOrders, ended);
  // While nobody listened, orders may have come.
  const stopReconnects = context.listener.onReconnect(() => void searchForgotten());
  let runner: JobRunner | undefined;
  try {
    runner = await startJobRunner({
      pool: options.jobPool,
      log: context.log,
      liveness: options.liveness,
      calls: context.listener,
      tasks: {
        [orderTask(profile.id)]: (payload) => step(payload as OrderStep),
        [renewalTask(profile.id)]: renewalStepTask(sessions),
      },
      jobsMax: atOnceMax,
      jobsAhead: atOnceMax,
    });
    await doChores(sessions, { searchForgotten, lookAtLogins: logins.look }, ended);
  } finally {
    stopReconnects();
    stopAnswering();
    stopProbing();
    await Promise.all([newOrders.stop(), runner?.stop()]);
    await drain();
  }
}
