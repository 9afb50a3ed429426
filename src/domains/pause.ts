/** New registrations at a registry stop while only an operator can help: out of credit, or a wrong configuration. */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import { raiseAlarm, resolveAlarm } from "#domains/alarms.ts";

export type PauseCause = "credit" | "configuration";

const setPause = statement(
  "registry-pause",
  `INSERT INTO registries (id, creates_paused_reason, updated_at) VALUES ($1, $2, $3)
   ON CONFLICT (id) DO UPDATE SET creates_paused_reason = excluded.creates_paused_reason, updated_at = excluded.updated_at`,
  {},
);

const findPause = statement(
  "registry-paused",
  "SELECT creates_paused_reason FROM registries WHERE id = $1 AND creates_paused_reason LIKE $2",
  { creates_paused_reason: "text?" },
);

const clearPause = statement(
  "registry-resume",
  `UPDATE registries SET creates_paused_reason = NULL, updated_at = $3
   WHERE id = $1 AND creates_paused_reason LIKE $2 RETURNING id`,
  { id: "text" },
);

export async function pauseCreates(context: Context, registryId: string, cause: PauseCause, reason: string) {
  const note = `${cause}: ${reason}`;
  await context.database.query(setPause, [registryId, note, context.clock.now()]);
  await raiseAlarm(context, { kind: "creates-paused", subject: registryId, note });
}

export async function areCreatesPausedFor(context: Context, registryId: string, cause: PauseCause): Promise<boolean> {
  return (await context.database.query(findPause, [registryId, `${cause}:%`])).length > 0;
}

/** Ends a pause with this cause, or with any for "any". Returns whether there was one. */
export async function resumeCreatesPausedFor(
  context: Pick<Context, "database" | "clock" | "log">,
  registryId: string,
  cause: PauseCause | "any",
): Promise<boolean> {
  const pattern = cause === "any" ? "%" : `${cause}:%`;
  const [resumed] = await context.database.query(clearPause, [registryId, pattern, context.clock.now()]);
  if (resumed) await resolveAlarm(context, { kind: "creates-paused", subject: registryId });
  return resumed !== undefined;
}
