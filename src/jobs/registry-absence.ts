/** Tells an operator of a registry that stays away. A short absence heals by itself: the circuit probes until it does. */
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import type { RegistrySessions } from "#domains/registry-sessions.ts";

const absenceToleratedMs = 10 * 60_000;

/** A chore of one owner: remembers since when the circuit has not been closed, by the context's clock. */
export function createAbsenceWatch(): (sessions: RegistrySessions) => Promise<void> {
  let awaySince: Date | undefined;
  // An alarm of the owner before this one may be open.
  let isAlarmPossible = true;
  return async ({ context, profile, pool }) => {
    const alarm = { kind: "registry-away", subject: profile.id } as const;
    if (pool.circuit().state === "closed") {
      awaySince = undefined;
      if (isAlarmPossible) await resolveAlarm(context, alarm);
      isAlarmPossible = false;
      return;
    }
    const now = context.clock.now();
    awaySince ??= now;
    if (now.getTime() - awaySince.getTime() < absenceToleratedMs) return;
    isAlarmPossible = true;
    await raiseAlarm(context, { ...alarm, note: `no session with ${profile.id} since ${awaySince.toISOString()}` });
  };
}
