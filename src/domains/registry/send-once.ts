/**
 * How a command that changes something at a registry is sent, whoever wants it: a session first, then the committed attempt
 * row, then the bytes. So an attempt without an answer may have been sent, and what has none certainly was not. The answer
 * is for the caller to read; why there is none is told here, once for all.
 */
import type { OrderHappening } from "#domains/orders/orders.ts";
import { type RegistrySessions, sessionWaitMs } from "#domains/registry/sessions.ts";
import type { EppCommand } from "#registry/epp/command.ts";
import { EppNotSent, EppUnanswered, EppUnavailable } from "#registry/epp/errors.ts";
import type { Lane, Lease } from "#registry/epp/pool/pool.ts";
import type { EppResponse } from "#registry/epp/session.ts";
import { EppFrameInvalid } from "#registry/epp/xml/schema.ts";

/** How a registry's answer, or its absence, ends an attempt. */
export interface AttemptResult {
  clTrid: string;
  resultCode: number | null;
  svTrid: string | null;
  /** False while the command may have been executed all the same. */
  isClosed: boolean;
}

/** Attempts as an operator sees them: the columns of `order_attempts` and `renewal_attempts`. */
export const attemptColumns = {
  cl_trid: "text",
  command: "text",
  committed_at: "timestamptz",
  answered_at: "timestamptz?",
  result_code: "int4?",
  sv_trid: "text?",
} as const;

export interface Answered<Data> {
  is: "answered";
  clTrid: string;
  response: EppResponse<Data>;
}

/** What is known of a command after it was to be sent. */
export type Sent<Data> =
  | Answered<Data>
  /** Possibly executed; the attempt stays open. */
  | { is: "unanswered"; reason: string }
  /** There was no session, and so no attempt was begun. */
  | { is: "unreachable"; reason: string }
  /** The session was gone; the attempt is closed. */
  | { is: "not-sent"; attempt: AttemptResult; reason: string }
  /** Our own fault: it breaks the schema, and would break it again. */
  | { is: "invalid"; attempt: AttemptResult; reason: string };

/**
 * Sends a command under an attempt of its own.
 * @param begin commits the attempt's row and returns its clTRID; what it throws is thrown
 * @param lane in which it waits for a session
 */
export async function sendOnce<Data>(
  sessions: RegistrySessions,
  command: EppCommand<Data>,
  begin: () => Promise<string>,
  lane: Lane = "transform",
): Promise<Sent<Data>> {
  let lease: Lease;
  try {
    lease = await sessions.pool.acquire(lane, { waitMs: sessionWaitMs });
  } catch (error) {
    if (!(error instanceof EppUnavailable)) throw error;
    return { is: "unreachable", reason: error.message };
  }
  using session = lease;
  return await sendBegun(sessions, session, command, await begin());
}

/** Sends a command whose attempt row is committed, and gives the session back. */
export async function sendBegun<Data>(
  { profile }: RegistrySessions,
  lease: Lease,
  command: EppCommand<Data>,
  clTrid: string,
): Promise<Sent<Data>> {
  using session = lease;
  try {
    const response = await session.request(command, { clTRID: clTrid, timeoutMs: profile.transformTimeoutMs });
    return { is: "answered", clTrid, response };
  } catch (error) {
    if (error instanceof EppUnanswered) return { is: "unanswered", reason: error.message };
    const attempt: AttemptResult = { clTrid, resultCode: null, svTrid: null, isClosed: true };
    if (error instanceof EppNotSent) return { is: "not-sent", attempt, reason: error.message };
    if (!(error instanceof EppFrameInvalid)) throw error;
    return { is: "invalid", attempt, reason: error.message };
  }
}

/** The attempt of an answered command. @param isClosed false when the answer does not say whether it was executed */
export function answeredAttempt(
  clTrid: string,
  { code, svTRID }: EppResponse<unknown>,
  isClosed: boolean,
): AttemptResult {
  return { clTrid, resultCode: code, svTrid: svTRID ?? null, isClosed };
}

/** Nothing is believed before the registry has certainly stopped working on the command. */
export function lostAnswer({ context, profile }: RegistrySessions, attempt?: AttemptResult) {
  const nextStepAt = new Date(context.clock.now().getTime() + profile.settleMs);
  return { event: "unanswered", attempt, nextStepAt, reason: "the registry's answer was lost" } as const;
}

/** What it means for an order that there is no answer to a command that is valid. */
export function unansweredOrder(
  sessions: RegistrySessions,
  sent: Exclude<Sent<unknown>, { is: "answered" | "invalid" }>,
): OrderHappening {
  switch (sent.is) {
    case "unanswered":
      return lostAnswer(sessions);
    case "unreachable":
      return { event: "unreachable", countsAsFailure: true };
    case "not-sent":
      return { event: "not-executed", attempt: sent.attempt, countsAsFailure: true };
  }
}

/** What the registry said, for people. */
export function answerInWords({ code, message, reasons }: EppResponse<unknown>): string {
  return [`${code} ${message}`, ...reasons].join("; ");
}
