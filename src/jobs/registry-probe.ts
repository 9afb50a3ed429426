/**
 * The circuit of an unreachable registry probes less and less often. An operator who knows that it is back can have it probed
 * now: the command sends a notification, and the registry's session holder writes the outcome into the registry's row.
 */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { type RegistrySessions, wakeAll } from "#domains/registry/sessions.ts";

/** Its payload: an id by which the answer is found, a space, and the registry's id. */
const probeChannel = "registry_probe";
const idBytes = 9;

const ask = statement("registry-probe-ask", `SELECT pg_notify('${probeChannel}', $payload::text)::text AS notified`, {
  notified: "text",
});

const findAnswer = statement(
  "registry-probe-find",
  "SELECT probe_failure FROM registries WHERE id = $registry_id AND probe_id = $probe_id",
  { probe_failure: "text?" },
);

const writeAnswer = statement(
  "registry-probe-answer",
  "UPDATE registries SET probe_id = $probe_id, probe_failure = $failure WHERE id = $registry_id",
  {},
);

// None of these orders has a command in progress, so its backoff may be cut short.
const endWaits = statement(
  "orders-after-probe",
  `WITH woken AS (
     UPDATE orders SET next_step_at = $now WHERE id IN (
       SELECT id FROM orders WHERE registry_id = $registry_id AND ended_at IS NULL AND next_step_at > $now
         AND (status = 'NotProvisioned' OR phase = 'send') ORDER BY id FOR UPDATE)
     RETURNING lane, registry_id)
   ${wakeAll("woken")}`,
  { notified: "int8" },
);

type AskContext = Pick<Context, "database" | "random">;

/** Asks the registry's session holder, if there is one, to probe. @returns the id for `findProbeAnswer` */
export async function askProbe({ database, random }: AskContext, registryId: string): Promise<string> {
  const id = random.bytes(idBytes).toString("base64url");
  await database.query(ask, { payload: `${id} ${registryId}` });
  return id;
}

/** The probe's failure, or `null` when it succeeded; no row while there is no answer. */
export async function findProbeAnswer({ database }: AskContext, registryId: string, id: string) {
  return (await database.query(findAnswer, { registry_id: registryId, probe_id: id }))[0];
}

/** Probes when an operator asks for it. If that succeeds, waiting orders are retried at once. @returns a function that stops it */
export function answerProbes(sessions: RegistrySessions): () => void {
  const { context, profile, pool } = sessions;
  const answer = async (id: string) => {
    const failure = await pool.probe();
    await context.database.transaction(async (tx) => {
      await tx.query(writeAnswer, {
        registry_id: profile.id,
        probe_id: id,
        failure: failure?.message ?? null,
      });
      if (failure) return;
      await tx.query(endWaits, { registry_id: profile.id, now: context.clock.now() });
    });
  };
  return context.listener.on(probeChannel, (payload) => {
    const [id = "", registryId] = payload.split(" ");
    if (registryId !== profile.id) return;
    answer(id).catch((error: unknown) =>
      context.log.warn({ err: error, registry: registryId }, "the outcome of a probe could not be written"),
    );
  });
}
