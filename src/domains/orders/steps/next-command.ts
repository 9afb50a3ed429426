/**
 * The step of `Processing (send)`: finds out what is left to do, and sends the next command. Nothing is repeated that may still
 * arrive.
 */

import type { Answer, OrderKind, Plan } from "#domains/orders/kind.ts";
import { countedAttempts, type Order, type Outcome, ofEarlierOwners } from "#domains/orders/order.ts";
import { configurationCodes, meaningOf } from "#domains/orders/result-codes.ts";
import { describeAnswer, lostAnswer, type Sent, send } from "#domains/orders/send.ts";
import { lookAndPlan, outcomeOf, purposesOf, refusalOf } from "#domains/orders/steps/lookup.ts";
import { askInfo, askInfoOn, askOn, later } from "#domains/registry/ask.ts";
import { type RegistrySessions, sessionWaitMs } from "#domains/registry/sessions.ts";
import { dayMs } from "#lib/clock.ts";
import { isSuccess } from "#registry/epp/codes.ts";
import type { EppCommand } from "#registry/epp/command.ts";
import { EppUnavailable } from "#registry/epp/errors.ts";

/** How often a registry may refuse a command without `<info>` showing why. */
const disputesMax = 3;
/** How long an order waits for the registrar's account to be topped up (2104). */
const creditWaitMsMax = dayMs;
/** RFC 5730 §3: a parameter value policy error. */
const policyCode = 2306;
const creditCode = 2104;

/** @throws OrderConflict, LeaseLost before anything was sent */
export async function sendNext(sessions: RegistrySessions, order: Order, kind: OrderKind): Promise<Outcome> {
  const { lookup } = purposesOf(order, kind);
  const plan =
    (await kind.planFirst?.(sessions, order)) ??
    (await lookAndPlan(sessions, order, kind, await askInfo(sessions, order.domain_name, lookup)));
  if (plan.is === "prepare") return plan.prepare();
  if (plan.is !== "send") return outcomeOf(sessions, kind, order, plan);
  const command = await commandOf(sessions, order, kind, plan);
  return "instead" in command ? command.instead : sendPlanned(sessions, order, kind, command);
}

/** The command of a plan, or what happens in its place. */
async function commandOf(
  sessions: RegistrySessions,
  order: Order,
  kind: OrderKind,
  { command, found }: Extract<Plan, { is: "send" }>,
): Promise<EppCommand<unknown> | { instead: Outcome }> {
  const made = "make" in command ? await command.make() : command;
  if ("instead" in made) return { instead: outcomeOf(sessions, kind, order, made.instead) };
  order.found = { ...(order.found as object), ...found };
  return made;
}

/**
 * A command that an earlier owner may have sent is repeated only after one more lookup, on the session that carries it: its frame may
 * have arrived since.
 */
async function sendPlanned(
  sessions: RegistrySessions,
  order: Order,
  kind: OrderKind,
  command: EppCommand<unknown>,
): Promise<Outcome> {
  const { command: purpose } = purposesOf(order, kind);
  const before = ofEarlierOwners(countedAttempts(order, kind), sessions.context);
  const isRepeat = before.some(({ result_code }) => result_code === null);
  if (!isRepeat) {
    const sent = await send(sessions, order, command, { purpose, beginsFirst: kind.beginsFirst?.(order) ?? false });
    return readSent(sessions, order, kind, command, sent);
  }
  try {
    using session = await sessions.pool.acquire(purpose, { waitMs: sessionWaitMs });
    const name = await askInfoOn(session, sessions, order.domain_name);
    const plan = await lookAndPlan(sessions, order, kind, name, askOn(session, sessions));
    if (plan.is !== "send") return notExecuted("an info has changed since the last one");
    return await readSent(sessions, order, kind, command, await send(sessions, order, command, { session }));
  } catch (error) {
    if (!(error instanceof EppUnavailable)) throw error;
    return notExecuted(error.message);
  }
}

const notExecuted = (reason: string): Outcome => ({ event: "not-executed", countsAsFailure: true, reason });

async function readSent(
  sessions: RegistrySessions,
  order: Order,
  kind: OrderKind,
  { name: command }: EppCommand<unknown>,
  sent: Sent<unknown>,
): Promise<Outcome> {
  switch (sent.is) {
    case "answered": {
      const { response } = sent;
      const ofKind = command === "domain:delete" ? "delete" : kind.name;
      const meaning = kind.meaning?.(response.code, order) ?? meaningOf(response.code, ofKind, sessions.profile);
      const attempt = {
        clTrid: sent.clTrid,
        resultCode: response.code,
        svTrid: response.svTRID ?? null,
        isClosed: meaning !== "unanswered",
      };
      if (meaning === "unanswered") return lostAnswer(sessions, attempt);
      const answer = { command, meaning, attempt, response, reason: describeAnswer(response) };
      const outcome = (await kind.answered?.(sessions, order, answer)) ?? readAnswer(sessions, order, answer);
      return refusalOf(kind, order, outcome, command);
    }
    case "unanswered":
      return lostAnswer(sessions);
    case "unreachable":
    case "not-sent":
      return { ...notExecuted(sent.reason), attempt: sent.attempt };
    case "invalid": {
      const { attempt, reason } = sent;
      // The registry's profile promises more than the registry offers.
      if (sent.isNotOffered) return refusalOf(kind, order, { event: "failed", attempt, operatorNote: reason, reason });
      const operatorNote = `the command could not be sent: ${reason}`;
      const said = "the registry's rules do not allow these values";
      return refusalOf(kind, order, { event: "rejected", attempt, operatorNote, reason: said });
    }
  }
}

function readAnswer(
  sessions: RegistrySessions,
  order: Order,
  { command, meaning, attempt, response, reason: said }: Answer,
): Outcome {
  const { shown } = order;
  const reason = `${command}: ${said}`;
  const isOfName = command.startsWith("domain:");
  switch (meaning) {
    case "answered":
      // A host or a contact is ready: what is left to do, info shows.
      return { event: isOfName ? "answered" : "prepared", attempt };
    case "pending":
      // What the domain shows now is taken over at once. A host or a contact is not ready yet.
      if (isOfName) return { event: "pending", attempt };
      return { event: "prepared", attempt, nextStepAt: later(sessions, sessions.profile.reconcileIntervalMs) };
    case "disputed": {
      const isLast = order.disputes + 1 >= disputesMax;
      if (!isLast) return { event: "disputed", attempt, reason, isDispute: true, countsAsFailure: true };
      return { event: response.code === policyCode ? "rejected" : "failed", attempt, reason, shown };
    }
    case "failed": {
      const isOurs = configurationCodes.includes(response.code);
      const statuses = shown ? `; the registry shows ${shown.statuses.join(", ")}` : "";
      return { event: "failed", attempt, shown, reason: reason + statuses, ...(isOurs && { operatorNote: reason }) };
    }
    case "out-of-credit": {
      // The alarm is about all renewals of the registry.
      if (order.renewal_id !== null) return { event: "out-of-credit", attempt, reason, countsAsFailure: true };
      if (isCreditOverdue(sessions, order)) return { event: "failed", attempt, reason, shown };
      const operatorNote = `it waits for credit at ${order.registry_id}: ${reason}`;
      return { event: "out-of-credit", attempt, reason, operatorNote, countsAsFailure: true };
    }
    case "rejected":
      return { event: "rejected", attempt, reason, shown };
    default:
      return { event: meaning, attempt, reason, countsAsFailure: true };
  }
}

/** Whether the registry has refused the order's present command for lack of credit for too long. */
export function isCreditOverdue({ context }: RegistrySessions, { attempts }: Order): boolean {
  const taken = attempts.findLastIndex(({ result_code: code }) => code !== null && isSuccess(code));
  const first = attempts.slice(taken + 1).find(({ result_code: code }) => code === creditCode);
  return first !== undefined && context.clock.now().getTime() - first.committed_at.getTime() > creditWaitMsMax;
}
