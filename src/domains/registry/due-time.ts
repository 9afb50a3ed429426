/**
 * When a row's next step is due. A clock that was put forward and back leaves times behind that are further away than
 * anything ever waits: waiting for them would look like a hung order.
 */
import { operatorRetryMs } from "#domains/registry/sessions.ts";
import type { RegistryProfile } from "#registry/registries.ts";

type Waits = Pick<RegistryProfile, "backoffMaxMs" | "reconcileIntervalMs" | "settleMs" | "takeoverSettleMs">;

/** The longest that a step is put off, but for a term's end, a schedule and announced maintenance. */
export function longestWaitMs(profile: Waits): number {
  const { backoffMaxMs, reconcileIntervalMs, settleMs, takeoverSettleMs } = profile;
  return Math.max(backoffMaxMs, reconcileIntervalMs, settleMs, takeoverSettleMs, operatorRetryMs);
}

/**
 * @param longestMs what is further away than this is due now
 * @param isUnanswered whether a command may still be executed: then the time that it has for that begins once more instead
 * @returns when the step comes; nothing when it is due
 */
export function waitsUntil(
  nextStepAt: Date | null,
  now: Date,
  { profile, longestMs, isUnanswered }: { profile: Waits; longestMs: number; isUnanswered: boolean },
): Date | undefined {
  if (nextStepAt === null || nextStepAt <= now) return undefined;
  if (nextStepAt.getTime() - now.getTime() <= longestMs) return nextStepAt;
  return isUnanswered ? new Date(now.getTime() + Math.max(profile.settleMs, profile.takeoverSettleMs)) : undefined;
}
