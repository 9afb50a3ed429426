/**
 * A registry that stays away is probed less and less often. Who knows that it is back has it probed now: an operator's
 * command asks by a notification, and the owner of the registry's sessions writes what came of it into the registry's row.
 */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { wakeAll } from "#domains/changes/due.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";

/** Its payload: an id that the answer is found by, and the registry's id, with a space between. */
const probeChannel = "registry_probe";
const idBytes = 9;

const ask = statement("registry-probe-ask", `SELECT pg_notify('${probeChannel}', $1::text)::text AS notified`, {
  notified: "text",
});

const findAnswer = statement(
  "registry-probe-find",
  "SELECT probe_failure FROM registries WHERE id = $1 AND probe_id = $2",
  { probe_failure: "text?" },
);

const writeAnswer = statement(
  "registry-probe-answer",
  "UPDATE registries SET probe_id = $2, probe_failure = $3 WHERE id = $1",
  {},
);

// None of these has a command under way, so its delay may be cut short.
const endWaits = statement(
  "orders-after-probe",
  `WITH woken AS (
     UPDATE registration_orders SET next_step_at = $now WHERE id IN (
       SELECT id FROM registration_orders WHERE registry_id = $registry_id AND ended_at IS NULL AND next_step_at > $now
         AND (status = 'NotProvisioned' OR status = 'Processing' AND phase = 'waiting') ORDER BY id FOR UPDATE)
     RETURNING registry_id)
   ${wakeAll("order", "woken")}`,
  { notified: "int8" },
);

type AskContext = Pick<Context, "database" | "random">;

/** Has the owner of the registry's sessions probe its circuit, if it hears it. @returns the id for `findProbeAnswer` */
export async function askProbe({ database, random }: AskContext, registryId: string): Promise<string> {
  const id = random.bytes(idBytes).toString("base64url");
  await database.query(ask, [`${id} ${registryId}`]);
  return id;
}

/** What the probe failed with, `null` for nothing; no row while there is no answer. */
export async function findProbeAnswer({ database }: AskContext, registryId: string, id: string) {
  return (await database.query(findAnswer, [registryId, id]))[0];
}

/** Probes when an operator asks for it. Where that works, orders that wait go on at once. @returns what ends it */
export function answerProbes(sessions: RegistrySessions): () => void {
  const { context, profile, pool } = sessions;
  const answer = async (id: string) => {
    const failure = await pool.probe();
    await context.database.transaction(async (tx) => {
      await tx.query(writeAnswer, [profile.id, id, failure?.message ?? null]);
      if (failure) return;
      await tx.query(endWaits, { registry_id: profile.id, now: context.clock.now() });
    });
  };
  return context.listener.on(probeChannel, (payload) => {
    const [id = "", registryId] = payload.split(" ");
    if (registryId !== profile.id) return;
    answer(id).catch((error: unknown) => context.log.warn({ err: error, registry: registryId }, "a probe was lost"));
  });
}
