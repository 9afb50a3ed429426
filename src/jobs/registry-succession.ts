/**
 * How another process becomes a registry's session holder although the present one still runs: a holder that hangs loses its
 * lock to a waiting worker, and one that cannot reach the registry yields when another worker can.
 */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import type { HeldLease } from "#jobs/registry-lease.ts";
import { sleep } from "#lib/clock.ts";
import { reportDefect } from "#lib/report-defect.ts";
import { ownerLock } from "#locks/owner-lock.ts";
import type { EppPool } from "#registry/epp/pool/pool.ts";
import { readGreeting } from "#registry/read-greeting.ts";
import type { RegistryProfile } from "#registry/registries.ts";

/** Payloads: the question's id and the registry's id; the question's id and the pid of the answering worker's lock connection. */
const askChannel = "registry_greeting_asked";
const answerChannel = "registry_greeting_read";

const pollMs = 1_000;
/** The holder of the lock takes the lease within this time. */
const takenMsMax = 10_000;
/** A session holder that has not heard from the registry for this long yields … */
const silentMsMax = 15_000;
/** … to a worker that reads the registry's greeting within this time of the question. */
const greetingFreshMs = 5_000;
/** How often a session holder asks. During an outage of the registry itself, connecting every few seconds is not worth it. */
const askEveryMs = 3_000;
const askSeldomMs = 15_000;
const longSilenceMs = 60_000;
const idBytes = 9;

/** The application_name of the connection on which a worker waits for a registry's lock, and holds it. PostgreSQL keeps 63 bytes. */
export const lockConnectionName = (registryId: string) => `deedhouse-lease-${registryId}`;

type OwnerOptions = { context: Context; profile: RegistryProfile };

// Its lease has expired; or it has held the lock for some time without taking a lease, like a process that was suspended while
// it waited. A connection may reuse the pid of an earlier holder's connection.
const endHungOwner = statement(
  "registry-owner-end",
  `SELECT held.pid, pg_terminate_backend(held.pid) AS is_ended
   FROM (${ownerLock("$registry_id")}) AS held JOIN pg_stat_activity AS activity USING (pid)
   LEFT JOIN registry_leases AS lease ON lease.registry_id = $registry_id
     AND lease.lock_pid = held.pid AND lease.lock_started_at = activity.backend_start
   WHERE CASE WHEN lease.registry_id IS NOT NULL THEN lease.expires_at < now()
     ELSE activity.application_name = $application_name AND activity.state = 'idle'
       AND activity.state_change < now() - interval '${takenMsMax} milliseconds' END`,
  { pid: "int4?", is_ended: "bool" },
);

const mayYield = `registry_id = $registry_id AND epoch = $epoch
  AND (yielded_at IS NULL OR yielded_at < now() - interval '1 minute')`;

const ask = statement(
  "registry-greeting-ask",
  `SELECT notify_after_commit('${askChannel}', $payload::text)::text AS notified FROM registry_leases WHERE ${mayYield}`,
  { notified: "text" },
);

const sendGreetingAnswer = statement(
  "registry-greeting-answer",
  `SELECT pg_notify('${answerChannel}', $payload::text)::text AS notified`,
  { notified: "text" },
);

const yieldLease = statement(
  "registry-lease-yield",
  `UPDATE registry_leases SET yielded_at = now(), yielded_to = $pid WHERE ${mayYield} RETURNING holder`,
  { holder: "text" },
);

/**
 * What a worker does while it waits for the registry's lock: it ends the connection of a session holder whose lease has
 * expired, and reads the registry's greeting when the holder asks for that. Never throws.
 * @param pid of the connection on which it waits
 */
export async function standBy(options: OwnerOptions, pid: number, ended: AbortSignal): Promise<void> {
  const { context, profile } = options;
  const stopAnswering = answerAsks(options, pid);
  while (!ended.aborted) {
    await sleep(pollMs, ended);
    if (ended.aborted) break;
    try {
      const owner = { registry_id: profile.id, application_name: lockConnectionName(profile.id) };
      const [hung] = await context.database.query(endHungOwner, owner);
      if (hung)
        context.log.warn({ registry: profile.id, ...hung }, "the session holder hangs: ended its lock's connection");
    } catch (error) {
      context.log.warn(
        { err: error, registry: profile.id },
        "cannot determine whether the registry's session holder hangs",
      );
    }
  }
  stopAnswering();
}

/** Reads one greeting at a time. @returns a function that stops it */
function answerAsks({ context, profile }: OwnerOptions, pid: number): () => void {
  let isReading = false;
  const answer = async (id: string) => {
    isReading = true;
    try {
      await readGreeting(profile, context.clock);
      await context.database.query(sendGreetingAnswer, { payload: `${id} ${pid}` });
    } catch (error) {
      context.log.debug({ err: error, registry: profile.id }, "this process cannot reach the registry either");
    } finally {
      isReading = false;
    }
  };
  return context.listener.on(askChannel, (payload) => {
    const [id = "", registryId] = payload.split(" ");
    if (registryId === profile.id && !isReading) answer(id).catch(reportDefect);
  });
}

/**
 * Yields the lease when the registry has been silent for long but greets another worker, at most once a minute. A registry that
 * refuses our login is not silent: it would refuse the other worker too, and might lock the account. Never throws.
 */
export async function yieldWhenCutOff(
  { context, profile }: OwnerOptions,
  pool: Pick<EppPool, "silentMs">,
  lease: HeldLease,
  ended: AbortSignal,
): Promise<void> {
  const { clock, database, listener, log } = context;
  const askedAtMs = new Map<string, number>();
  const isFresh = (id: string) =>
    clock.monotonicMs() - (askedAtMs.get(id) ?? Number.NEGATIVE_INFINITY) <= greetingFreshMs;
  const isSilent = () => pool.silentMs() >= silentMsMax;
  const owned = { registry_id: profile.id, epoch: lease.epoch };

  async function yieldTo(pid: number): Promise<void> {
    const [yielded] = await database.query(yieldLease, { ...owned, pid });
    if (!yielded) return;
    log.warn({ registry: profile.id }, "the registry is silent here but greets another worker: yielding the lease");
    lease.abandon();
  }

  const failed = (error: unknown) =>
    log.warn({ err: error, registry: profile.id }, "could not ask whether another worker reaches the registry");
  const stopListening = listener.on(answerChannel, (payload) => {
    const [id = "", pid] = payload.split(" ");
    if (isFresh(id) && isSilent() && !ended.aborted) yieldTo(Number(pid)).catch(failed);
  });
  while (!ended.aborted) {
    await sleep(pollMs, ended);
    if (ended.aborted || !isSilent()) continue;
    const id = context.random.bytes(idBytes).toString("base64url");
    for (const old of askedAtMs.keys()) if (!isFresh(old)) askedAtMs.delete(old);
    askedAtMs.set(id, clock.monotonicMs());
    await database.query(ask, { ...owned, payload: `${id} ${profile.id}` }).catch(failed);
    await sleep(pool.silentMs() < longSilenceMs ? askEveryMs : askSeldomMs, ended);
  }
  stopListening();
}
