/** Rows 7 to 14: the contact, the attempt row, the create, and what its answer means. */
import { raiseAlarm } from "#alarms.ts";
import { beginAttempt, readCreateAttempts, readEarlierAttempts } from "#domains/orders/attempts.ts";
import { ensureContact } from "#domains/orders/contact.ts";
import { askInfoOn } from "#domains/orders/name-info.ts";
import { authInfoRow, type Order, type OrderHappening } from "#domains/orders/orders.ts";
import { eventOfCreate } from "#domains/orders/result-codes.ts";
import { areCreatesStopped, pauseCreates, resumeCreatesPausedFor } from "#domains/registry/pause.ts";
import {
  type Answered,
  type AttemptResult,
  answeredAttempt,
  answerInWords,
  lostAnswer,
  type Sent,
  sendBegun,
  sendOnce,
  unansweredOrder,
} from "#domains/registry/send-once.ts";
import { operatorRetryMs, type RegistrySessions, sessionWaitMs } from "#domains/registry/sessions.ts";
import type { EppCommand } from "#registry/epp/command.ts";
import { type DomainCreated, domainCreate } from "#registry/epp/commands/domain/create.ts";
import { EppUnavailable } from "#registry/epp/errors.ts";

/** How long an order waits for the registrar's account to be topped up (2104). */
const creditWaitMsMax = 24 * 60 * 60_000;

/**
 * Sends the create of an order at most once for each attempt that is written down; an order whose create may have
 * happened is looked up before anything else.
 */
export async function createDomain(sessions: RegistrySessions, order: Order): Promise<OrderHappening> {
  const { context, profile } = sessions;
  const attempts = await readCreateAttempts(context.database, order.id);
  // The process that sent it is gone: its create may have happened.
  if (attempts.unanswered > 0) return lostAnswer(sessions);
  // What an operator has to put right would be refused again, and end one order after the other.
  if (await areCreatesStopped(context, profile.id)) {
    const reason = `creates at ${profile.id} are paused`;
    return { event: "not-executed", countsAsFailure: true, reason, whileCreatesStopped: true };
  }
  const contact = profile.dataModel === "thick" ? await ensureContact(sessions, order) : undefined;
  if (contact?.happening) return contact.happening;

  const command = createCommand(sessions, order, contact?.id);
  const isRepeat = attempts.total > 0 && (await readEarlierAttempts(context, order.id, command.name)).unknown > 0;
  const happening = isRepeat
    ? await repeatCreate(sessions, order, command)
    : await readCreate(
        sessions,
        order,
        await sendOnce(sessions, command, () => beginAttempt(context, order, command.name)),
      );
  if (happening.event === "created") await resumeCreatesPausedFor(context, profile.id, "credit");
  return happening;
}

/**
 * Sends a create once more after one of an owner before this one that was not found at the registry. That one's frame may have
 * come since: the name is looked at on the same session, and the create follows at once.
 */
async function repeatCreate(
  sessions: RegistrySessions,
  order: Order,
  command: EppCommand<DomainCreated>,
): Promise<OrderHappening> {
  const { context, pool } = sessions;
  try {
    using session = await pool.acquire("transform", { waitMs: sessionWaitMs });
    const name = await askInfoOn(session, sessions, order);
    if (name.is === "unknown") return { event: "not-executed", countsAsFailure: true, reason: name.reason };
    if (name.is !== "absent") return { event: "exists", reason: "the name is registered since it was looked for" };
    const clTrid = await beginAttempt(context, order, command.name);
    return await readCreate(sessions, order, await sendBegun(sessions, session, command, clTrid));
  } catch (error) {
    if (!(error instanceof EppUnavailable)) throw error;
    return unansweredOrder(sessions, { is: "unreachable", reason: error.message });
  }
}

/** What an order's create is made of. */
type OrderedName = Pick<
  Order,
  "order_code" | "domain_name" | "period_years" | "auth_info_sealed" | "fee_amount" | "fee_currency"
>;

/** @param contactId the registrant's, and everybody else's; a thin registry has no contacts */
export function createCommand(
  { context, profile }: RegistrySessions,
  order: OrderedName,
  contactId: string | undefined,
): EppCommand<DomainCreated> {
  const { fee_amount: amount, fee_currency: currency } = order;
  return domainCreate({
    name: order.domain_name,
    periodYears: order.period_years,
    ...(contactId !== undefined && {
      registrant: contactId,
      contacts: profile.contactTypes.map((type) => ({ type, id: contactId })),
    }),
    authInfo: context.sealer.open(authInfoRow(order.order_code), order.auth_info_sealed),
    ...(amount !== null && currency !== null && { fee: { amount, currency } }),
  });
}

/** What became of a create, as far as it is known. */
export async function readCreate(
  sessions: RegistrySessions,
  order: WaitingOrder,
  sent: Sent<DomainCreated>,
): Promise<OrderHappening> {
  if (sent.is === "answered") return readAnswer(sessions, order, sent);
  if (sent.is === "invalid") {
    // Sending it again would not be better.
    return { event: "rejected", attempt: sent.attempt, operatorNote: `the create could not be sent: ${sent.reason}` };
  }
  return unansweredOrder(sessions, sent);
}

/** What the meaning of a refusal depends on. */
type WaitingOrder = Pick<Order, "contact_renewed" | "waiting_since">;

async function readAnswer(
  sessions: RegistrySessions,
  order: WaitingOrder,
  { clTrid, response }: Answered<DomainCreated>,
): Promise<OrderHappening> {
  const { context, profile } = sessions;
  const event = eventOfCreate(response.code, profile.resultCodes);
  const attempt = answeredAttempt(clTrid, response, event !== "unanswered");
  const reason = answerInWords(response);
  switch (event) {
    case "created": {
      sessions.createsDone += 1;
      const { crDate, exDate } = response.data ?? {};
      // Without an expiry date there is nothing true to tell the reseller yet: an info will bring it.
      if (!crDate || !exDate) return lostAnswer(sessions, { ...attempt, isClosed: false });
      // RFC 5731 §2.3: the status of a new name without delegation, and we send no name servers.
      return { event, attempt, registered: { registeredAt: crDate, expiresAt: exDate, status: "inactive" } };
    }
    case "create-pending":
      return { event, attempt, nextStepAt: new Date(context.clock.now().getTime() + profile.reconcileIntervalMs) };
    case "unanswered":
      return lostAnswer(sessions, attempt);
    case "rejected":
      return rejected(sessions, order, attempt, response.code, reason);
    case "operator-needed":
      await pauseCreates(context, profile.id, "configuration", reason);
      return { event, attempt, reason };
    case "out-of-credit": {
      const creditPause = { pauseForCredit: { reason, createsDone: sessions.createsDone } };
      const since = order.waiting_since ?? context.clock.now();
      const isOver = context.clock.now().getTime() - since.getTime() > creditWaitMsMax;
      if (isOver) return { event: "credit-never-came", attempt, reason, ...creditPause };
      // The pause has told the operator already.
      const nextStepAt = new Date(context.clock.now().getTime() + operatorRetryMs);
      return { event, attempt, reason, countsAsFailure: true, nextStepAt, ...creditPause };
    }
    case "not-executed":
      return { event, attempt, reason, countsAsFailure: true };
    default:
      return { event, attempt, reason };
  }
}

/** Row 10. 2303 says that the contact is gone (RFC 5731 §3.2.1): it is made again, once. */
async function rejected(
  { context, profile }: RegistrySessions,
  order: WaitingOrder,
  attempt: AttemptResult,
  code: number,
  reason: string,
): Promise<OrderHappening> {
  if (code === 2303 && profile.dataModel === "thick" && !order.contact_renewed) {
    return { event: "not-executed", attempt, reason, contactRenewed: true };
  }
  const isOurMistake = code === 2001;
  if (isOurMistake) await raiseAlarm(context, { kind: "epp-syntax", subject: profile.id, note: reason });
  return { event: "rejected", attempt, reason, ...(isOurMistake && { operatorNote: reason }) };
}
