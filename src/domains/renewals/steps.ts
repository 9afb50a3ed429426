/**
 * What a renewal does in each state: one EPP command at most, then something happened to it (states.ts says what
 * follows).
 *
 * The rule that everything here serves, as for orders: a command's bytes are written only after its attempt row is
 * committed, and while an attempt is unanswered nothing is sent but questions. The second guard is the registry's own: a
 * renew names the exDate that it was built on, so one that is sent twice is executed once (RFC 5731 §3.2.3).
 */

import { longestWaitMs, waitsUntil } from "#domains/registry/due-time.ts";
import { LeaseLost } from "#domains/registry/owner-lease.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import { happenToRenewal, type RenewalHappening } from "#domains/renewals/happenings.ts";
import { lookAtPendingRenew, lookBeforeRenew, verifyDelete, verifyRenew, waitForEnd } from "#domains/renewals/look.ts";
import { findRenewal, postponeRenewal, type Renewal, RenewalChanged } from "#domains/renewals/renewals.ts";
import { sendDelete, sendRenew } from "#domains/renewals/send.ts";
import { nextRenewalState, renewalState } from "#domains/renewals/states.ts";
import { backoffMs } from "#lib/backoff.ts";
import type { RegistryProfile } from "#registry/registries.ts";

/** A renewal that waits for an operator is looked at again this often. */
const attentionLookMs = 60 * 60_000;

/** The longest that a renewal's step is put off, but for its schedule and the end of its term. */
export const longestRenewalWaitMs = (profile: RegistryProfile) => Math.max(attentionLookMs, longestWaitMs(profile));

/**
 * Takes a renewal as far as it goes now. Safe to repeat, to be killed anywhere, and to be resumed by another process.
 * Never more than one at a time per renewal: the registry's owner sees to that.
 * @throws LeaseLost when this process does not own the registry any more
 */
export async function advanceRenewal(sessions: RegistrySessions, renewalId: number): Promise<void> {
  const { context } = sessions;
  for (;;) {
    const renewal = await findRenewal(context, renewalId);
    if (!renewal) return;
    if (!context.lease.isHeld()) throw new LeaseLost(context.lease);
    try {
      const waitsUntil = findWait(sessions, renewal);
      if (waitsUntil) return await postponeRenewal(context, renewal, waitsUntil);
      const happening = await step(sessions, renewal);
      if (!happening) return;
      if (await context.database.transaction((tx) => happenToRenewal(context, tx, renewal, happening))) return;
    } catch (error) {
      // Switched on or off, or woken, meanwhile: what it is now decides.
      if (!(error instanceof RenewalChanged)) throw error;
    }
  }
}

/** Until when there is nothing to do. Announced maintenance may be called off: it is looked at again before its end. */
function findWait({ context, profile }: RegistrySessions, renewal: Renewal): Date | undefined {
  const now = context.clock.now();
  const state = renewalState(renewal);
  const isScheduled = state === "Scheduled" || state === "Lapsing (wait)";
  const longestMs = isScheduled ? Number.POSITIVE_INFINITY : longestRenewalWaitMs(profile);
  const until = waitsUntil(renewal.next_step_at, now, { profile, longestMs, isUnanswered: state.includes("verify") });
  if (until) return until;
  return renewal.is_in_maintenance ? new Date(now.getTime() + profile.reconcileIntervalMs) : undefined;
}

async function step(sessions: RegistrySessions, renewal: Renewal): Promise<RenewalHappening | undefined> {
  const happening = await stepOf(sessions, renewal);
  if (!happening || happening.nextStepAt) return happening;
  const delayMs = delayAfter(sessions, renewal, happening);
  if (delayMs === undefined) return happening;
  return { ...happening, nextStepAt: new Date(sessions.context.clock.now().getTime() + delayMs) };
}

function stepOf(sessions: RegistrySessions, renewal: Renewal): Promise<RenewalHappening | undefined> {
  const state = renewalState(renewal);
  switch (state) {
    case "Scheduled":
      return Promise.resolve({ event: renewal.will_renew ? "due" : "not-wanted" });
    case "Attention":
      return Promise.resolve({ event: "resumed" });
    case "Processing (look)":
      return lookBeforeRenew(sessions, renewal);
    case "Processing (renew)":
      return sendRenew(sessions, renewal);
    case "Processing (pending)":
      return lookAtPendingRenew(sessions, renewal);
    case "Processing (verify: answered)":
    case "Processing (verify: lost)":
      return verifyRenew(sessions, renewal);
    case "Lapsing (wait)":
      return waitForEnd(sessions, renewal);
    case "Lapsing (delete)":
      return sendDelete(sessions, renewal);
    case "Lapsing (verify: answered)":
    case "Lapsing (verify: lost)":
      return verifyDelete(sessions, renewal);
    default:
      throw new Error(`a renewal in ${state} has no step`);
  }
}

/** When the step after this one comes, in milliseconds from now; `undefined` for at once. */
function delayAfter({ context, profile }: RegistrySessions, renewal: Renewal, happening: RenewalHappening) {
  const next = nextRenewalState(renewalState(renewal), happening.event)?.to;
  if (next === "Attention") return attentionLookMs;
  if (!happening.countsAsFailure) return undefined;
  const limits = { firstMs: profile.backoffFirstMs, maxMs: profile.backoffMaxMs };
  return backoffMs(renewal.backoff_count + 1, limits, context.random);
}
