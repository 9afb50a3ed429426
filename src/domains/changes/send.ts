/**
 * Sends a command that changes something at a registry: its attempt row is committed, then its bytes are written. So an
 * unanswered attempt may have been sent, and a command without an attempt certainly was not.
 */
import type { AttemptResult, ChangeRow, ChangeTable, Outcome } from "#domains/changes/change.ts";
import { later } from "#domains/changes/proof.ts";
import { begin } from "#domains/changes/write.ts";
import { type RegistrySessions, sessionWaitMs } from "#domains/registry/sessions.ts";
import type { EppCommand } from "#registry/epp/command.ts";
import { EppNotSent, EppUnanswered, EppUnavailable } from "#registry/epp/errors.ts";
import type { Lane, Lease } from "#registry/epp/pool/pool.ts";
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
  /** Our own mistake: it breaks the schema, and would break it again. */
  | { is: "invalid"; attempt: AttemptResult; reason: string };

export interface SendOptions<Row extends ChangeRow, O extends Outcome> {
  table: ChangeTable<Row, O>;
  row: Row;
  /** The queue in which it waits for a session. */
  lane?: Lane;
  /** A session that the caller holds; it is released afterwards. */
  session?: Lease;
  /** Commits the attempt before it waits for a session, so that no session idles during the commit. */
  beginsFirst?: boolean;
}

/** Sends a command under an attempt of its own. @throws ChangeConflict, LeaseLost before anything was sent */
export async function send<Data, Row extends ChangeRow, O extends Outcome>(
  sessions: RegistrySessions,
  command: EppCommand<Data>,
  { table, row, lane = "transform", session, beginsFirst = false }: SendOptions<Row, O>,
): Promise<Sent<Data>> {
  const beginNow = () => begin(sessions.context, table, row, command.name);
  let begun = beginsFirst ? await beginNow() : undefined;
  let lease: Lease;
  try {
    // Once it has begun there is nothing better to do than to wait: the others in the queue are commands like this one.
    const waitMs = beginsFirst ? sessions.profile.transformTimeoutMs : sessionWaitMs;
    lease = session ?? (await sessions.pool.acquire(lane, { waitMs }));
  } catch (error) {
    if (!(error instanceof EppUnavailable)) throw error;
    const { message: reason } = error;
    return { is: "unreachable", reason, ...(begun !== undefined && { attempt: unsent(begun) }) };
  }
  using held = lease;
  begun ??= await beginNow();
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

/** The attempt of an answered command. @param isClosed false if the answer does not say whether it was executed */
export function answeredAttempt({ clTrid, response }: Answered<unknown>, isClosed: boolean): AttemptResult {
  return { clTrid, resultCode: response.code, svTrid: response.svTRID ?? null, isClosed };
}

/** Nothing is believed before the registry has certainly stopped working on the command. */
export function lostAnswer(sessions: RegistrySessions, attempt?: AttemptResult) {
  const nextStepAt = later(sessions, sessions.profile.settleMs);
  return { event: "unanswered", attempt, nextStepAt, reason: "the registry's answer was lost" } as const;
}

/** What the registry said, for people. */
export function describeAnswer({ code, message, reasons }: EppResponse<unknown>): string {
  return [`${code} ${message}`, ...reasons].join("; ");
}
