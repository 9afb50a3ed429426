/** Raises an alarm when a registry stays unreachable. A short outage needs no operator: the circuit probes until it ends. */
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import { statement } from "#db/statement.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";

const absenceToleratedMs = 10 * 60_000;

// Kept in the database, so that a session holder which restarts every few minutes does not begin to count again.
const writeAway = statement(
  "registry-away-since",
  `UPDATE registries SET away_since = CASE
     WHEN $is_away THEN coalesce(away_since, $now::timestamptz)
     WHEN $is_first_look THEN away_since
   END
   WHERE id = $id RETURNING away_since`,
  { away_since: "timestamptz?" },
);

/** A chore of the session holder. @param round in round 0 no command has been sent yet, so nothing new is known */
export async function watchForAbsence({ context, profile, pool }: RegistrySessions, round: number): Promise<void> {
  const alarm = { kind: "registry-away", subject: profile.id } as const;
  const now = context.clock.now();
  const isAway = pool.circuit().state !== "closed" || pool.silentMs() > 0;
  const values = { id: profile.id, is_away: isAway, now, is_first_look: round === 0 };
  const [row] = await context.database.query(writeAway, values);
  const since = row?.away_since;
  if (!since) return void (await resolveAlarm(context, alarm));
  if (now.getTime() - since.getTime() < absenceToleratedMs) return;
  await raiseAlarm(context, { ...alarm, note: `no session with ${profile.id} since ${since.toISOString()}` });
}
