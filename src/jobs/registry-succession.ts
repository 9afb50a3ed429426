/**
 * How the sessions of a registry get another owner although the present one lives: one that hangs loses its lock to those who
 * wait, and one that has lost its link to the registry lets go when somebody else has one.
 */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import type { HeldLease } from "#jobs/registry-lease.ts";
import { sleep } from "#lib/clock.ts";
import { ownerLock } from "#locks/owner-lock.ts";
import type { EppPool } from "#registry/epp/pool/pool.ts";
import { readGreeting } from "#registry/read-greeting.ts";
import type { RegistryProfile } from "#registry/registries.ts";

/** Their payloads: a question's id, and the registry's id or the pid of the connection with which the answerer waits. */
const askChannel = "registry_greeting_asked";
const answerChannel = "registry_greeting_read";

const pollMs = 1_000;
/** Who has the lock takes the lease in a moment. */
const takenMsMax = 10_000;
/** An owner without a sign of life from the registry for so long yields … */
const silentMsMax = 15_000;
/** … to a worker that has read a greeting since it was asked, so long ago at most. */
const greetingFreshMs = 5_000;
/** How often an owner asks for one. A registry that is away for everybody for long is not worth a connection every few seconds. */
const askEveryMs = 3_000;
const askSeldomMs = 15_000;
const longSilenceMs = 60_000;
const idBytes = 9;

/** How PostgreSQL knows the connection with which a worker waits for a registry's lock, and holds it; of a name it keeps 63 bytes. */
export const lockConnectionName = (registryId: string) => `deedhouse-lease-${registryId}`;

type OwnerOptions = { context: Context; profile: RegistryProfile };

// Its lease has expired; or it has had the lock for long and has taken no lease, as a process that was stopped while it waited.
// An owner of a version without leases has the lock alone, and another name; it may have the pid of an earlier owner.
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
  `SELECT pg_notify('${askChannel}', $payload::text)::text AS notified FROM registry_leases WHERE ${mayYield}`,
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
 * What a worker does while it waits for the registry's lock: it takes the lock from an owner whose lease has expired, and looks
 * whether the registry greets it when the owner asks for that. Never throws.
 * @param pid of the connection with which it waits
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
      if (hung) context.log.warn({ registry: profile.id, ...hung }, "the owner hangs: its lock's connection is ended");
    } catch (error) {
      context.log.warn({ err: error, registry: profile.id }, "whether the registry's owner hangs is not known");
    }
  }
  stopAnswering();
}

/** One greeting at a time. @returns what ends it */
function answerAsks({ context, profile }: OwnerOptions, pid: number): () => void {
  let isReading = false;
  const answer = async (id: string) => {
    isReading = true;
    try {
      await readGreeting(profile, context.clock);
      await context.database.query(sendGreetingAnswer, { payload: `${id} ${pid}` });
    } catch (error) {
      context.log.debug({ err: error, registry: profile.id }, "the registry does not greet this process either");
    } finally {
      isReading = false;
    }
  };
  return context.listener.on(askChannel, (payload) => {
    const [id = "", registryId] = payload.split(" ");
    if (registryId === profile.id && !isReading) void answer(id);
  });
}

/**
 * Lets go of the lease once the registry has been silent for long and greets another worker, at most once a minute. A registry
 * that answers is not silent, also where it refuses our login: others would be refused too, and it might lock the account.
 * Never throws.
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
    log.warn({ registry: profile.id }, "the registry is silent here, and greets another worker: this one lets go");
    lease.abandon();
  }

  const failed = (error: unknown) =>
    log.warn({ err: error, registry: profile.id }, "another worker could not be asked for");
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
