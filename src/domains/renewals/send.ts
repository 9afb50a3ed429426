/** Rows 5 to 12 and 20: the attempt row, the renew or the delete, and what its answer means. */

import { type Answered, answeredAttempt, answerInWords, lostAnswer, sendOnce } from "#domains/registry/send-once.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import { beginRenewalAttempt, readRenewalAttempts } from "#domains/renewals/attempts.ts";
import { eventOfDelete, eventOfRenew } from "#domains/renewals/codes.ts";
import type { RenewalHappening } from "#domains/renewals/happenings.ts";
import { isLeaving } from "#domains/renewals/look.ts";
import type { Renewal } from "#domains/renewals/renewals.ts";
import type { RenewalEvent } from "#domains/renewals/states.ts";
import { addDays, termAfter } from "#domains/renewals/terms.ts";
import type { EppCommand } from "#registry/epp/command.ts";
import { domainDelete } from "#registry/epp/commands/domain/delete.ts";
import { domainRenew } from "#registry/epp/commands/domain/renew.ts";

/** RFC 5730 §3: an object's statuses forbid the command, e.g. pendingDelete another delete. */
const statusProhibits = 2304;
/** A renew is not built on a look older than this. */
const lookFreshMs = 24 * 60 * 60_000;
/** So often a registry may refuse a renew, while info shows nothing that explains it, before a person has to look. */
const disputesMax = 5;

/** Sends the renew of a name whose exDate was just looked at, unless the wish has changed. */
export async function sendRenew(sessions: RegistrySessions, renewal: Renewal): Promise<RenewalHappening> {
  const { context, profile } = sessions;
  const { unanswered } = await readRenewalAttempts(context, renewal.id);
  // The process that sent it is gone: its renew may have happened.
  if (unanswered > 0) return lostAnswer(sessions);
  if (!renewal.will_renew) return { event: "not-wanted" };
  if (context.clock.now().getTime() - renewal.updated_at.getTime() > lookFreshMs) return { event: "not-executed" };
  const command = domainRenew({
    name: renewal.domain_name,
    currentExDate: renewal.registry_ex_date,
    periodYears: renewal.period_years,
  });
  const meaning = (code: number) => eventOfRenew(code, profile.renewalResultCodes);
  const happening = await send(sessions, renewal, command, meaning);
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
  if (unanswered > 0) return lostAnswer(sessions);
  if (renewal.will_renew) return { event: "wanted" };
  if (context.clock.now() > addDays(renewedByRegistryAt(renewal), profile.graceDays.autoRenew)) {
    return { event: "grace-over", reason: "the registry renewed the name, and the time to take that back is over" };
  }
  const happening = await send(sessions, renewal, domainDelete(renewal.domain_name), eventOfDelete);
  if (happening.attempt?.resultCode !== statusProhibits || !(await isLeaving(sessions, renewal))) return happening;
  // A delete that was given up for lost has arrived after all, and forbids this one: what the registry shows decides.
  return lostAnswer(sessions, { ...happening.attempt, isClosed: false });
}

/** It does that at its own date, a year before the one that it shows now. Where that is later than ours, ours is safe. */
function renewedByRegistryAt({ term_ends_at: termEndsAt, registry_ex_date: exDate }: Renewal): Date {
  const itsDate = termAfter(exDate, -1);
  return itsDate < termEndsAt ? itsDate : termEndsAt;
}

async function send(
  sessions: RegistrySessions,
  renewal: Renewal,
  command: EppCommand<unknown>,
  meaning: (code: number) => RenewalEvent,
): Promise<RenewalHappening> {
  const begin = () => beginRenewalAttempt(sessions.context, renewal, command.name);
  const sent = await sendOnce(sessions, command, begin, "renewal");
  switch (sent.is) {
    case "answered":
      return readAnswer(sessions, sent, meaning);
    case "unanswered":
      return lostAnswer(sessions);
    case "unreachable":
      return { event: "not-executed", countsAsFailure: true, reason: sent.reason };
    case "not-sent":
      return { event: "not-executed", attempt: sent.attempt, countsAsFailure: true };
    case "invalid":
      return {
        event: "operator-needed",
        attempt: sent.attempt,
        reason: `the command could not be sent: ${sent.reason}`,
      };
  }
}

function readAnswer(
  sessions: RegistrySessions,
  { clTrid, response }: Answered<unknown>,
  meaning: (code: number) => RenewalEvent,
): RenewalHappening {
  const event = meaning(response.code);
  const attempt = answeredAttempt(clTrid, response, event !== "unanswered");
  if (event === "unanswered") return lostAnswer(sessions, attempt);
  if (event === "answered" || event === "pending") return { event, attempt };
  return { event, attempt, countsAsFailure: true, reason: answerInWords(response) };
}
