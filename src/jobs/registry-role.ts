/**
 * The owner of a registry's EPP sessions: it holds the registry's lock, runs that registry's order steps, answers the
 * api's questions about names, and reads the message queue. A successor waits for the lock, which PostgreSQL frees when
 * the owner's connection ends; what the owner may have sent stands in the attempt rows.
 */
import { Client, type Pool } from "pg";
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { availabilityOf, checkAnswerChannel, checkChannel } from "#domains/availability.ts";
import { drainPollQueue, isMessageAwaited } from "#domains/poll.ts";
import type { RegistrySessions } from "#domains/registry-sessions.ts";
import { advanceOrder } from "#domains/steps.ts";
import { enqueueOrder, orderTask } from "#jobs/enqueue.ts";
import type { Liveness } from "#jobs/liveness.ts";
import { ownerLockClass } from "#jobs/owner-lock.ts";
import { startJobRunner } from "#jobs/runner.ts";
import { sleep } from "#lib/clock.ts";
import { Secret } from "#lib/secret.ts";
import { createEppPool, type EppPool } from "#registry/epp/pool.ts";
import type { RegistryProfile } from "#registry/registries.ts";

const reconnectMs = 1_000;
const drainMs = 10_000;
/** The queue is read this many times less often while no order waits for a message. */
const idlePollFactor = 10;

const objectUris = ["urn:ietf:params:xml:ns:domain-1.0", "urn:ietf:params:xml:ns:contact-1.0"];

const takeCheck = statement(
  "registry-check-take",
  "DELETE FROM registry_checks WHERE id = $1::uuid AND registry_id = $2 RETURNING domain_name",
  { domain_name: "text" },
);

const waitingChecks = statement(
  "registry-checks-waiting",
  "SELECT id::text FROM registry_checks WHERE registry_id = $1",
  { id: "text" },
);

const dropStaleChecks = statement(
  "registry-checks-drop",
  "DELETE FROM registry_checks WHERE registry_id = $1 AND asked_at < $2::timestamptz - interval '1 minute'",
  {},
);

const answerCheck = statement(
  "registry-check-answer",
  `SELECT pg_notify('${checkAnswerChannel}', $1)::text AS notified`,
  {
    notified: "text",
  },
);

const writeCircuit = statement(
  "registry-circuit",
  `INSERT INTO registries (id, circuit_open_until, updated_at) VALUES ($1, $2, $3)
   ON CONFLICT (id) DO UPDATE SET circuit_open_until = excluded.circuit_open_until, updated_at = excluded.updated_at`,
  {},
);

const forgottenOrders = statement(
  "orders-forgotten",
  `SELECT id, next_step_at FROM registration_orders AS o
   WHERE registry_id = $1 AND status IN ('NotProvisioned', 'Processing', 'Pending')
     AND NOT EXISTS (SELECT FROM graphile_worker.jobs AS job WHERE job.key = 'order:' || o.id
       AND (job.locked_at IS NOT NULL OR job.run_at <= now() OR o.next_step_at > $2::timestamptz))`,
  { id: "int8", next_step_at: "timestamptz?" },
);

export interface RegistryRoleOptions {
  context: Context;
  profile: RegistryProfile;
  databaseUrl: string;
  jobPool: Pool;
  liveness: Liveness;
}

export interface RegistryRole {
  close(): Promise<void>;
}

/** Waits to become the registry's owner, and is it until `close` or until the database connection ends. */
export function startRegistryRole(options: RegistryRoleOptions): RegistryRole {
  const { context, profile, databaseUrl } = options;
  const stopped = new AbortController();

  async function holdLock(): Promise<void> {
    const connection = new Client({
      connectionString: databaseUrl,
      application_name: `deedhouse-owner-${profile.id}`,
      keepAlive: true,
    });
    const lost = new AbortController();
    connection.on("error", () => lost.abort());
    connection.on("end", () => lost.abort());
    const end = () => void connection.end().catch(() => {});
    stopped.signal.addEventListener("abort", end);
    try {
      await connection.connect();
      await connection.query(`SELECT pg_advisory_lock(${ownerLockClass}, hashtext($1))`, [profile.id]);
      context.log.info({ registry: profile.id }, "this process owns the registry's sessions");
      // The lock is given up only after the last session is closed.
      stopped.signal.removeEventListener("abort", end);
      await own(options, AbortSignal.any([lost.signal, stopped.signal]));
    } finally {
      stopped.signal.removeEventListener("abort", end);
      end();
    }
  }

  async function run(): Promise<void> {
    while (!stopped.signal.aborted) {
      await holdLock().catch((error: unknown) => {
        if (!stopped.signal.aborted) context.log.warn({ err: error, registry: profile.id }, "the owner's role ended");
      });
      await sleep(reconnectMs, stopped.signal);
    }
  }

  const running = run();
  return {
    async close() {
      stopped.abort();
      await running;
    },
  };
}

async function own(options: RegistryRoleOptions, ended: AbortSignal): Promise<void> {
  const { context, profile } = options;
  const pool = openPool(context, profile);
  const sessions: RegistrySessions = {
    context,
    profile,
    pool,
    queryClTrid: () => `Q-${context.random.bytes(9).toString("base64url")}`,
  };
  await saveCircuit(context, profile.id, undefined);
  await enqueueForgotten(sessions);
  const stopAnswering = answerChecks(sessions);
  const runner = await startJobRunner({
    pool: options.jobPool,
    log: context.log,
    liveness: options.liveness,
    tasks: { [orderTask(profile.id)]: orderStepTask(sessions) },
    jobsMax: profile.sessionsMax,
  });
  try {
    await readMessages(sessions, ended);
  } finally {
    stopAnswering();
    await runner.stop();
    await pool.drain(drainMs);
  }
}

function openPool(context: Context, profile: RegistryProfile): EppPool {
  return createEppPool({
    registryId: profile.id,
    host: profile.host,
    port: profile.port,
    tls: {
      ca: profile.ca,
      cert: profile.cert,
      key: profile.key === undefined ? undefined : new Secret(profile.key),
      servername: profile.servername,
    },
    registrarId: profile.registrarId,
    password: profile.password,
    services: { objectURIs: objectUris, extensionURIs: [] },
    sessionsMax: profile.sessionsMax,
    commandsPerSecond: profile.commandsPerSecond,
    timeouts: profile.timeouts,
    circuit: profile.circuit,
    clock: context.clock,
    random: context.random,
    log: context.log,
    onFrame: (direction, xml) => context.log.trace({ registry: profile.id, direction, xml }, "EPP frame"),
    onCircuit: ({ state, retryAfterMs }) => {
      const until = state === "open" ? new Date(context.clock.now().getTime() + retryAfterMs) : undefined;
      context.log.warn({ registry: profile.id, state, retryAfterMs }, "the registry's circuit changed");
      // Half-open is still closed to newcomers: the time told before stands until the probe has an answer.
      if (state === "half-open") return;
      saveCircuit(context, profile.id, until).catch((error: unknown) =>
        context.log.error({ err: error }, "the circuit's state could not be written"),
      );
    },
  });
}

async function saveCircuit(context: Context, registryId: string, openUntil: Date | undefined): Promise<void> {
  await context.database.query(writeCircuit, [registryId, openUntil ?? null, context.clock.now()]);
}

/**
 * An order without a job would wait for ever, and one that is due would wait for hours when its job failed often: the
 * queue's own delay grows to six hours. Whatever happened, the owner finds them.
 */
async function enqueueForgotten({ context, profile }: RegistrySessions): Promise<void> {
  const now = context.clock.now();
  for (const order of await context.database.query(forgottenOrders, [profile.id, now])) {
    const delayMs = Math.max(0, (order.next_step_at ?? now).getTime() - now.getTime());
    await enqueueOrder(context.database, { id: order.id, registryId: profile.id }, delayMs);
  }
}

/** One step per order at a time: a job that comes while the order is being worked on is looked at again after it. */
function orderStepTask(sessions: RegistrySessions): (payload: unknown) => Promise<void> {
  const running = new Map<number, Promise<void>>();
  return async (payload) => {
    const { orderId } = payload as { orderId: number };
    while (running.has(orderId)) await running.get(orderId)?.catch(() => {});
    const step = advanceOrder(sessions, orderId);
    running.set(orderId, step);
    try {
      await step;
    } finally {
      running.delete(orderId);
    }
  };
}

function answerChecks(sessions: RegistrySessions): () => void {
  const { context, profile, pool } = sessions;
  const answer = async (id: string): Promise<void> => {
    const [asked] = await context.database.query(takeCheck, [id, profile.id]);
    if (!asked) return;
    const availability = await pool
      .checkDomain(asked.domain_name, { budgetMs: context.checkBudgetMs })
      .then(availabilityOf, () => "unknown" as const);
    await context.database.query(answerCheck, [JSON.stringify({ id, availability })]);
  };
  const tryAnswer = (id: string) =>
    answer(id).catch((error: unknown) => context.log.warn({ err: error }, "a registry check could not be answered"));
  // What was asked while nobody listened.
  const catchUp = async () => {
    const waiting = await context.database.query(waitingChecks, [profile.id]).catch(() => []);
    for (const { id } of waiting) tryAnswer(id);
  };
  const stopListening = context.listener.on(checkChannel, tryAnswer);
  const stopReconnects = context.listener.onReconnect(catchUp);
  catchUp();
  return () => {
    stopListening();
    stopReconnects();
  };
}

async function readMessages(sessions: RegistrySessions, ended: AbortSignal): Promise<void> {
  const { context, profile } = sessions;
  for (let round = 0; !ended.aborted; round++) {
    try {
      if (round % idlePollFactor === 0 || (await isMessageAwaited(sessions))) await drainPollQueue(sessions);
      if (round % idlePollFactor === 0) {
        await context.database.query(dropStaleChecks, [profile.id, context.clock.now()]);
        await enqueueForgotten(sessions);
      }
    } catch (error) {
      context.log.debug({ err: error, registry: profile.id }, "the registry's message queue could not be read");
    }
    await sleep(profile.pollIntervalMs, ended);
  }
}
