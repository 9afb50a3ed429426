/** Rows 5 to 12 and 20: the attempt row, the renew or the delete, and what its answer means. */
import { type RegistrySessions, sessionWaitMs } from "#domains/registry-sessions.ts";
import { beginRenewalAttempt, type RenewalAttempt, readRenewalAttempts } from "#domains/renewal-attempts.ts";
import { eventOfDelete, eventOfRenew } from "#domains/renewal-codes.ts";
import type { RenewalHappening } from "#domains/renewal-happenings.ts";
import type { RenewalEvent } from "#domains/renewal-states.ts";
import { addDays } from "#domains/renewal-terms.ts";
import type { Renewal } from "#domains/renewals.ts";
import type { EppCommand } from "#registry/epp/command.ts";
import { domainDelete } from "#registry/epp/commands/domain-delete.ts";
import { domainRenew } from "#registry/epp/commands/domain-renew.ts";
import { EppNotSent, EppUnanswered, EppUnavailable } from "#registry/epp/errors.ts";
import type { Lease } from "#registry/epp/pool.ts";
import { EppFrameInvalid } from "#registry/epp/schema.ts";
import type { EppResponse } from "#registry/epp/session.ts";

/** A renew is not built on a look older than this. */
const lookFreshMs = 24 * 60 * 60_000;
/** So often a registry may refuse a renew, while info shows nothing that explains it, before a person has to look. */
const disputesMax = 5;

/** Sends the renew of a name whose exDate was just looked at, unless the wish has changed. */
export async function sendRenew(sessions: RegistrySessions, renewal: Renewal): Promise<RenewalHappening> {
  const { context, profile } = sessions;
  const { unanswered } = await readRenewalAttempts(context, renewal.id);
  // The process that sent it is gone: its renew may have happened.
  if (unanswered > 0) return lostAnswer(sessions, undefined);
  if (!renewal.will_renew) return { event: "not-wanted" };
  if (context.clock.now().getTime() - renewal.updated_at.getTime() > lookFreshMs) return { event: "not-executed" };
  const command = domainRenew({
    name: renewal.domain_name,
    currentExDate: renewal.registry_ex_date,
    periodYears: renewal.period_years,
  });
  const meaning = (code: number) => eventOfRenew(code, profile.renewalResultCodes);
  const happening = await sendOnce(sessions, renewal, command, meaning);
  if (happening.event === "pending") {
    const nextStepAt = new Date(context.clock.now().getTime() + profile.reconcileIntervalMs);
    return { ...happening, nextStepAt };
  }
  const isStubborn = happening.event === "disputed" && renewal.backoff_count + 1 >= disputesMax;
  return isStubborn ? { ...happening, event: "operator-needed" } : happening;
}

/** Deletes a name that the registry has renewed by itself, while that is credited. */
export async function sendDelete(sessions: RegistrySessions, renewal: Renewal): Promise<RenewalHappening> {
  const { context, profile } = sessions;
  const { unanswered } = await readRenewalAttempts(context, renewal.id);
  if (unanswered > 0) return lostAnswer(sessions, undefined);
  if (renewal.will_renew) return { event: "wanted" };
  if (context.clock.now() > addDays(renewal.term_ends_at, profile.graceDays.autoRenew)) {
    return { event: "grace-over", reason: "the registry renewed the name, and the time to take that back is over" };
  }
  return sendOnce(sessions, renewal, domainDelete(renewal.domain_name), eventOfDelete);
}

/** Nothing is believed before the registry has certainly stopped working on it. */
function lostAnswer({ context, profile }: RegistrySessions, attempt: RenewalAttempt | undefined): RenewalHappening {
  const nextStepAt = new Date(context.clock.now().getTime() + profile.settleMs);
  return { event: "unanswered", attempt, nextStepAt, reason: "the registry's answer was lost" };
}

async function sendOnce<Data>(
  sessions: RegistrySessions,
  renewal: Renewal,
  command: EppCommand<Data>,
  meaning: (code: number) => RenewalEvent,
): Promise<RenewalHappening> {
  const { context, profile, pool } = sessions;
  let lease: Lease;
  try {
    lease = await pool.acquire("transform", { waitMs: sessionWaitMs });
  } catch (error) {
    if (!(error instanceof EppUnavailable)) throw error;
    return { event: "not-executed", countsAsFailure: true, reason: error.message };
  }
  using session = lease;
  const clTrid = await beginRenewalAttempt(context, renewal, command.name);
  let response: EppResponse<Data>;
  try {
    response = await session.request(command, { clTRID: clTrid, timeoutMs: profile.transformTimeoutMs });
  } catch (error) {
    if (error instanceof EppUnanswered) return lostAnswer(sessions, undefined);
    const attempt: RenewalAttempt = { clTrid, resultCode: null, svTrid: null, isClosed: true };
    if (error instanceof EppNotSent) return { event: "not-executed", attempt, countsAsFailure: true };
    if (!(error instanceof EppFrameInvalid)) throw error;
    return { event: "operator-needed", attempt, reason: `the command could not be sent: ${error.message}` };
  }
  return readAnswer(sessions, clTrid, response, meaning);
}

function readAnswer(
  sessions: RegistrySessions,
  clTrid: string,
  { code, message, reasons, svTRID }: EppResponse<unknown>,
  meaning: (code: number) => RenewalEvent,
): RenewalHappening {
  const event = meaning(code);
  const attempt: RenewalAttempt = {
    clTrid,
    resultCode: code,
    svTrid: svTRID ?? null,
    isClosed: event !== "unanswered",
  };
  if (event === "unanswered") return lostAnswer(sessions, attempt);
  if (event === "answered" || event === "pending") return { event, attempt };
  return { event, attempt, countsAsFailure: true, reason: [`${code} ${message}`, ...reasons].join("; ") };
}
