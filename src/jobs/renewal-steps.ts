/** The renewals of one registry as jobs. */
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import { advanceRenewal } from "#domains/renewals/steps.ts";
import { oneAtATime } from "#jobs/one-at-a-time.ts";

export function renewalStepTask(sessions: RegistrySessions): (payload: unknown) => Promise<void> {
  const advance = oneAtATime((id) => advanceRenewal(sessions, id));
  return (payload) => advance((payload as { renewalId: number }).renewalId);
}
