/** What a renewal does in each of its states; states.ts says what follows. */
import { attentionLookMs, type Machine } from "#domains/changes/change.ts";
import { sendKind, verifyKind } from "#domains/changes/kind.ts";
import { later } from "#domains/changes/proof.ts";
import { isRenewalHeld, onName } from "#domains/changes/turns.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import { deleteKind, waitForEnd } from "#domains/renewals/kind-delete.ts";
import { lookAtPendingRenew, lookBeforeRenew, renewKind } from "#domains/renewals/kind-renew.ts";
import { type Renewal, type RenewalOutcome, renewalTable } from "#domains/renewals/renewals.ts";
import { renewalState } from "#domains/renewals/states.ts";

export const renewalMachine: Machine<Renewal, RenewalOutcome> = {
  ...renewalTable,
  step: (sessions, renewal) => onName(sessions, renewal.domain_name, () => step(sessions, renewal)),
  delayMs: (_renewal, _outcome, to) => (to === "Attention" ? attentionLookMs : undefined),
};

/** How often a renewal looks whether an order about its name has ended. */
const turnLookMs = 60_000;

async function step(sessions: RegistrySessions, renewal: Renewal): Promise<RenewalOutcome | undefined> {
  const state = renewalState(renewal);
  switch (state) {
    case "Scheduled":
      return { event: renewal.will_renew ? "due" : "not-wanted" };
    case "Attention":
      return { event: "resumed" };
    case "Processing (look)":
      // What an order is about to do would look like a renewal by the registry.
      if (await isRenewalHeld(sessions, renewal)) return { nextStepAt: later(sessions, turnLookMs) };
      return lookBeforeRenew(sessions, renewal);
    case "Processing (renew)":
      if (await isRenewalHeld(sessions, renewal)) return { nextStepAt: later(sessions, turnLookMs) };
      return sendKind(sessions, renewalTable, renewal, renewKind);
    case "Processing (pending)":
      return lookAtPendingRenew(sessions, renewal);
    case "Processing (verify: answered)":
    case "Processing (verify: lost)":
    case "Processing (verify: unseen)":
      return verifyKind(sessions, renewal, renewKind);
    case "Lapsing (wait)":
      if (await isRenewalHeld(sessions, renewal)) return { nextStepAt: later(sessions, turnLookMs) };
      return waitForEnd(sessions, renewal);
    case "Lapsing (delete)":
      if (await isRenewalHeld(sessions, renewal)) return { nextStepAt: later(sessions, turnLookMs) };
      return sendKind(sessions, renewalTable, renewal, deleteKind);
    case "Lapsing (verify: answered)":
    case "Lapsing (verify: lost)":
      return verifyKind(sessions, renewal, deleteKind);
    default:
      throw new Error(`a renewal in ${state} has no step`);
  }
}
