/**
 * The session holder of a registry: it holds the registry's lock and lease, runs the steps of its orders, checks names for the
 * api, and does the registry's chores. Other workers wait for the lock. PostgreSQL releases it when the holder's connection
 * ends, and a waiting worker takes it from a holder whose lease has expired. The attempt rows show what a holder may have sent.
 */
import type { Client } from "pg";
import type { Context } from "#context.ts";
import { drainPollQueue } from "#domains/messages/poll.ts";
import { newSessions } from "#domains/registry/sessions.ts";
import { awaitPredecessor, changesLock, watchPredecessor } from "#jobs/predecessor.ts";
import { startChanges } from "#jobs/registry-changes.ts";
import { answerChecks } from "#jobs/registry-checks.ts";
import { doChores } from "#jobs/registry-chores.ts";
import { type HeldLease, takeLease } from "#jobs/registry-lease.ts";
import { createLoginWatch } from "#jobs/registry-logins.ts";
import { openRegistryPool } from "#jobs/registry-pool.ts";
import { answerProbes } from "#jobs/registry-probe.ts";
import { answerQuestions } from "#jobs/registry-questions.ts";
import { lockConnectionName, standBy, yieldWhenCutOff } from "#jobs/registry-succession.ts";
import { sleep } from "#lib/clock.ts";
import { reportDefect } from "#lib/report-defect.ts";
import type { Liveness } from "#locks/liveness.ts";
import { connectForLocks, createLockClient } from "#locks/lock-connection.ts";
import { tryOwnerLock } from "#locks/owner-lock.ts";
import type { RegistryProfile } from "#registry/registries.ts";

const reconnectMs = 500;
/** For each registry and waiting worker. A new owner begins within a second of the end of the one before. */
const askAgainMs = 200;
/**
 * The fault that cut this process's connection may also have cut the one on which the previous session holder announces its
 * work. That holder has this long to reconnect (500 to 1,500 ms, liveness.ts) before its orders are taken over.
 */
const predecessorBackMs = 2_000;
const drainMs = 10_000;

export interface RegistryRoleOptions {
  context: Context;
  profile: RegistryProfile;
  databaseUrl: string;
  liveness: Liveness;
}

export interface RegistryRole {
  /**
   * Resolves when this process, as the session holder, answers name checks, or when it knows that it is not the session holder.
   */
  started: Promise<void>;
  close(): Promise<void>;
}

/** Competes to become the registry's session holder, until `close`. Competes again after it has lost the lease. */
export function startRegistryRole(options: RegistryRoleOptions): RegistryRole {
  const { context, profile, databaseUrl } = options;
  const stopped = new AbortController();
  const started = Promise.withResolvers<void>();

  async function compete(isAgain: boolean): Promise<void> {
    const connection = createLockClient(databaseUrl, lockConnectionName(profile.id));
    const gone = new AbortController();
    connection.on("error", () => gone.abort());
    connection.on("end", () => gone.abort());
    const end = () => {
      connection.end().catch(() => {});
    };
    stopped.signal.addEventListener("abort", end);
    try {
      await connectForLocks(connection);
      if (isAgain) await sleep(predecessorBackMs, stopped.signal);
      await holdLock(options, connection, {
        ended: AbortSignal.any([gone.signal, stopped.signal]),
        onStandBy: started.resolve,
      });
      const lease = await takeLease(connection, profile.id);
      if (!lease) return;
      context.log.info({ registry: profile.id, epoch: lease.epoch }, "this process holds the registry's sessions");
      // The lock is released only after the last session is closed.
      stopped.signal.removeEventListener("abort", end);
      lease.lost.addEventListener("abort", () => {
        if (stopped.signal.aborted) return;
        context.log.warn({ registry: profile.id, epoch: lease.epoch }, "this process has lost the registry's lease");
      });
      gone.signal.addEventListener("abort", lease.lose);
      if (gone.signal.aborted) lease.lose();
      await keepWhile(lease, () =>
        runAsOwner(options, lease, {
          ended: AbortSignal.any([lease.lost, stopped.signal]),
          onServing: started.resolve,
        }),
      );
    } finally {
      stopped.signal.removeEventListener("abort", end);
      end();
    }
  }

  async function run(): Promise<void> {
    for (let isAgain = false; !stopped.signal.aborted; isAgain = true) {
      await compete(isAgain).catch((error: unknown) => {
        if (!stopped.signal.aborted)
          context.log.warn({ err: error, registry: profile.id }, "the session holder's role failed");
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

/** Waits until the connection holds the registry's lock. @param onStandBy called when another process holds it */
async function holdLock(
  options: RegistryRoleOptions,
  connection: Client,
  { ended, onStandBy }: { ended: AbortSignal; onStandBy: () => void },
): Promise<void> {
  const { profile } = options;
  const tryIt = async () => {
    const { rows } = await connection.query<{ is_owner: boolean; pid: number }>(tryOwnerLock, [profile.id]);
    return rows[0]!;
  };
  const { is_owner: isOwner, pid } = await tryIt();
  if (isOwner) return;
  onStandBy();
  const held = new AbortController();
  const standingBy = standBy(options, pid, AbortSignal.any([ended, held.signal]));
  try {
    do await sleep(askAgainMs, ended);
    while (!(await tryIt()).is_owner);
  } finally {
    held.abort();
    await standingBy;
  }
}

/** Renews the lease until the work has ended, then releases it. */
async function keepWhile(lease: HeldLease, work: () => Promise<void>): Promise<void> {
  const done = new AbortController();
  const keeping = lease.keep(done.signal);
  try {
    await work();
  } finally {
    done.abort();
    await keeping;
    await lease.release();
  }
}

interface Ownership {
  /** Fires at the end of the role or when the lease is lost, perhaps to the next session holder: then nothing new is sent. */
  ended: AbortSignal;
  /** Called when other processes' name checks are received. */
  onServing(): void;
}

async function runAsOwner(
  options: RegistryRoleOptions,
  lease: HeldLease,
  { ended, onServing }: Ownership,
): Promise<void> {
  const { profile } = options;
  const context = { ...options.context, lease };
  const logins = createLoginWatch(context, profile);
  const pool = await openRegistryPool(context, profile, { onLogin: logins.onLogin, mayWrite: lease.isHeld });
  // Commands in progress may still be answered until another process can have the lease.
  const drain = () => pool.drain(lease.lost.aborted ? Math.min(drainMs, lease.msLeft()) : drainMs);
  const drainNow = () => {
    drain().catch(reportDefect);
  };
  lease.lost.addEventListener("abort", drainNow);
  if (lease.lost.aborted) drainNow();
  const sessions = newSessions(context, profile, pool, { drainMessages: drainPollQueue });
  const { liveness } = options;
  await liveness.add(changesLock(profile.id));
  const stopAnswering = answerChecks(sessions);
  const stopProbing = answerProbes(sessions);
  const stopLooking = answerQuestions(sessions, ended);
  context.listener.listening().then(onServing).catch(reportDefect);
  const watching = [
    yieldWhenCutOff({ context, profile }, pool, lease, ended),
    watchPredecessor(context, liveness, ended),
  ];
  try {
    const chores = doChores(sessions, logins.check, ended);
    await awaitPredecessor(context, liveness, lease.predecessorMs, ended);
    const changes = startChanges(sessions, ended);
    await chores;
    await changes.stop();
  } finally {
    stopAnswering();
    stopProbing();
    await stopLooking();
    await Promise.all(watching);
    liveness.remove(changesLock(profile.id));
    await drain();
  }
}
