/**
 * Sends one command of an order. Its attempt row is committed before the first byte is written. So an unanswered attempt may have been
 * sent, and a command without an attempt certainly was not.
 */
import type { Context } from "#context.ts";
import { statement } from "#db/statement.ts";
import type { AttemptResult, Order } from "#domains/orders/order.ts";
import { begin } from "#domains/orders/write.ts";
import { later } from "#domains/registry/ask.ts";
import { type RegistrySessions, sessionWaitMs } from "#domains/registry/sessions.ts";
import type { EppCommand } from "#registry/epp/command.ts";
import { EppNotSent, EppUnanswered, EppUnavailable } from "#registry/epp/errors.ts";
import type { Lease, SessionPurpose } from "#registry/epp/pool/pool.ts";
import type { EppResponse } from "#registry/epp/session.ts";
import { EppFrameInvalid } from "#registry/epp/xml/schema.ts";

export interface Answered<Data> {
  is: "answered";
  clTrid: string;
  response: EppResponse<Data>;
}

/** What is known of a command after the call to send it. */
export type Sent<Data> =
  | Answered<Data>
  /** Possibly executed; the attempt stays open. */
  | { is: "unanswered"; reason: string }
  /** There was no session; the attempt, if there is one, is closed. */
  | { is: "unreachable"; attempt?: AttemptResult; reason: string }
  /** The session was gone; the attempt is closed. */
  | { is: "not-sent"; attempt: AttemptResult; reason: string }
  /** Our own mistake: it breaks the schema, or the registry does not have its extension. The same would happen again. */
  | { is: "invalid"; attempt: AttemptResult; reason: string; isNotOffered?: true };

interface SendOptions {
  /** What it acquires a session for. */
  purpose?: SessionPurpose;
  /** A session that the caller holds; it is released afterwards. */
  session?: Lease;
  /** Commits the attempt before it waits for a session, so that no session idles during the commit. */
  beginsFirst?: boolean;
}

/** @throws OrderConflict, LeaseLost before anything was sent */
export async function send<Data>(
  sessions: RegistrySessions,
  order: Order,
  command: EppCommand<Data>,
  { purpose = "transform", session, beginsFirst = false }: SendOptions = {},
): Promise<Sent<Data>> {
  const beginNow = () => begin(sessions.context, order, command.name);
  let begun = beginsFirst ? await beginNow() : undefined;
  let lease: Lease;
  try {
    // Once it has begun there is nothing better to do than to wait: the others in the queue are commands like this one.
    const waitMs = beginsFirst ? sessions.profile.transformTimeoutMs : sessionWaitMs;
    lease = session ?? (await sessions.pool.acquire(purpose, { waitMs }));
  } catch (error) {
    if (!(error instanceof EppUnavailable)) throw error;
    const { message: reason } = error;
    return { is: "unreachable", reason, ...(begun !== undefined && { attempt: unsent(begun) }) };
  }
  using held = lease;
  begun ??= await beginNow();
  const missing = command.extensionURIs?.find((uri) => !held.extensionURIs.includes(uri));
  if (missing !== undefined) {
    const reason = `the registry does not offer the extension ${missing}`;
    return { is: "invalid", attempt: unsent(begun), reason, isNotOffered: true };
  }
  try {
    const response = await held.request(command, { clTRID: begun, timeoutMs: sessions.profile.transformTimeoutMs });
    return { is: "answered", clTrid: begun, response };
  } catch (error) {
    if (error instanceof EppUnanswered) return { is: "unanswered", reason: error.message };
    if (error instanceof EppNotSent) return { is: "not-sent", attempt: unsent(begun), reason: error.message };
    if (!(error instanceof EppFrameInvalid)) throw error;
    return { is: "invalid", attempt: unsent(begun), reason: error.message };
  }
}

const unsent = (clTrid: string): AttemptResult => ({ clTrid, resultCode: null, svTrid: null, isClosed: true });

/** Nothing is believed before the registry has certainly stopped working on the command. */
export function lostAnswer(sessions: RegistrySessions, attempt?: AttemptResult) {
  const nextStepAt = later(sessions, sessions.profile.settleMs);
  const reason = attempt
    ? `the registry's answer ${attempt.resultCode} does not say whether the command was executed`
    : "the registry's answer was lost";
  return { event: "unanswered", attempt, nextStepAt, reason } as const;
}

/** What the registry said, for people. */
export function describeAnswer({ code, message, reasons }: EppResponse<unknown>): string {
  return [`${code} ${message}`, ...reasons].join("; ");
}

const answerPreparation = statement(
  "preparation-answer",
  "UPDATE attempts SET result_code = $result_code, sv_trid = $sv_trid, answered_at = $at WHERE cl_trid = $cl_trid",
  {},
);

/** Records the answer to a command that only prepares another one: it is no event of the order, whose step continues at once. */
export async function recordPreparation(
  { database, clock }: Pick<Context, "database" | "clock">,
  { clTrid, response }: Pick<Answered<unknown>, "clTrid" | "response">,
): Promise<void> {
  const answer = { cl_trid: clTrid, result_code: response.code, sv_trid: response.svTRID ?? null };
  await database.query(answerPreparation, { ...answer, at: clock.now() });
}
