/** Rows 7 to 14: the contact, the attempt row, the create, and what its answer means. */
import { raiseAlarm } from "#domains/alarms.ts";
import { ensureContact } from "#domains/contact.ts";
import {
  type AttemptResult,
  authInfoRow,
  beginAttempt,
  type Order,
  type OrderHappening,
  readCreateAttempts,
} from "#domains/orders.ts";
import { areCreatesStopped, pauseCreates, resumeCreatesPausedFor } from "#domains/pause.ts";
import { operatorRetryMs, type RegistrySessions, sessionWaitMs } from "#domains/registry-sessions.ts";
import { eventOfCreate } from "#domains/result-codes.ts";
import type { EppCommand } from "#registry/epp/command.ts";
import { type DomainCreated, domainCreate } from "#registry/epp/commands/domain-create.ts";
import { EppNotSent, EppUnanswered, EppUnavailable } from "#registry/epp/errors.ts";
import type { Lease } from "#registry/epp/pool.ts";
import { EppFrameInvalid } from "#registry/epp/schema.ts";
import type { EppResponse } from "#registry/epp/session.ts";

/** How long an order waits for the registrar's account to be topped up (2104). */
const creditWaitMsMax = 24 * 60 * 60_000;

/**
 * Sends the create of an order at most once for each attempt that is written down; an order whose create may have
 * happened is looked up before anything else.
 */
export async function createDomain(sessions: RegistrySessions, order: Order): Promise<OrderHappening> {
  const { context, profile, pool } = sessions;
  const attempts = await readCreateAttempts(context.database, order.id);
  // The process that sent it is gone: its create may have happened.
  if (attempts.unanswered > 0) return lostAnswer(sessions, undefined);
  // What an operator has to put right would be refused again, and end one order after the other.
  if (await areCreatesStopped(context, profile.id)) {
    return { event: "not-executed", countsAsFailure: true, reason: `creates at ${profile.id} are paused` };
  }
  const contact = profile.dataModel === "thick" ? await ensureContact(sessions, order) : undefined;
  if (contact?.happening) return contact.happening;

  const command = createCommand(sessions, order, contact?.id);
  let lease: Lease;
  try {
    lease = await pool.acquire("transform", { waitMs: sessionWaitMs });
  } catch (error) {
    if (!(error instanceof EppUnavailable)) throw error;
    return { event: "unreachable", countsAsFailure: true };
  }
  const clTrid = await beginAttempt(context, order, command.name).catch((error: unknown) => {
    lease.release();
    throw error;
  });
  const happening = await sendCreate(sessions, order, lease, command, clTrid);
  if (happening.event === "created") await resumeCreatesPausedFor(context, profile.id, "credit");
  return happening;
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

/** Sends a create whose attempt row is committed, and gives the session back. */
export async function sendCreate(
  sessions: RegistrySessions,
  order: WaitingOrder,
  lease: Lease,
  command: EppCommand<DomainCreated>,
  clTrid: string,
): Promise<OrderHappening> {
  using session = lease;
  let response: EppResponse<DomainCreated>;
  try {
    response = await session.request(command, { clTRID: clTrid, timeoutMs: sessions.profile.transformTimeoutMs });
  } catch (error) {
    if (error instanceof EppUnanswered) return lostAnswer(sessions, undefined);
    const attempt: AttemptResult = { clTrid, resultCode: null, svTrid: null, isClosed: true };
    if (error instanceof EppNotSent) return { event: "not-executed", attempt, countsAsFailure: true };
    if (!(error instanceof EppFrameInvalid)) throw error;
    // It was not sent, and sending it again would not be better.
    return { event: "rejected", attempt, operatorNote: `the create could not be sent: ${error.message}` };
  }
  session.release();
  // Outside of the above: what fails here fails after the registry has answered.
  return readAnswer(sessions, order, clTrid, response);
}

/** What the meaning of a refusal depends on. */
type WaitingOrder = Pick<Order, "contact_renewed" | "waiting_since">;

/** Row 14: nothing is believed before the registry has certainly stopped working on it. */
function lostAnswer({ context, profile }: RegistrySessions, attempt: AttemptResult | undefined): OrderHappening {
  const nextStepAt = new Date(context.clock.now().getTime() + profile.settleMs);
  return { event: "unanswered", attempt, nextStepAt, reason: "the registry's answer to the create was lost" };
}

async function readAnswer(
  sessions: RegistrySessions,
  order: WaitingOrder,
  clTrid: string,
  response: EppResponse<DomainCreated>,
): Promise<OrderHappening> {
  const { context, profile } = sessions;
  const event = eventOfCreate(response.code, profile.resultCodes);
  const isClosed = event !== "unanswered";
  const attempt: AttemptResult = { clTrid, resultCode: response.code, svTrid: response.svTRID ?? null, isClosed };
  const reason = [`${response.code} ${response.message}`, ...response.reasons].join("; ");
  switch (event) {
    case "created": {
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
      const creditPause = { pauseForCredit: reason };
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
