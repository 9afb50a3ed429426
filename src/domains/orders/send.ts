/**
 * A kind of change at a registry: what is specific to one command. The rules that all commands share are here: when a command is
 * sent, when it may be repeated, and when `<info>` is believed. Nothing is believed before the settle time is over, nothing
 * after a lost answer on the strength of one look, and nothing is repeated that may still arrive.
 */
import type { AttemptResult, ChangeRow, ChangeTable, Outcome } from "#domains/orders/change.ts";
import { begin } from "#domains/orders/write.ts";
import {
  askInfo,
  isInDoubt,
  later,
  type NameInfo,
  ofCommand,
  ofEarlierOwners,
  unansweredAttempts,
} from "#domains/registry/ask.ts";
import { lateFrameMs } from "#domains/registry/owner-lease.ts";
import { type RegistrySessions, sessionWaitMs } from "#domains/registry/sessions.ts";
import type { EppCommand } from "#registry/epp/command.ts";
import { EppNotSent, EppUnanswered, EppUnavailable } from "#registry/epp/errors.ts";
import type { Lease, SessionPurpose } from "#registry/epp/pool/pool.ts";
import type { EppResponse } from "#registry/epp/session.ts";
import { EppFrameInvalid } from "#registry/epp/xml/schema.ts";

/** A registry's answer, with what its result code means. */
export interface Answer<O extends Outcome, Data> {
  /** The name of the command. */
  command: string;
  event: NonNullable<O["event"]>;
  attempt: AttemptResult;
  response: EppResponse<Data>;
  /** What the registry said, for people. */
  reason: string;
}

/** What `<info>` proves about a command. */
export type Proof<O extends Outcome> =
  /** There was no usable answer: ask again. */
  | { is: "unknown"; outcome: O }
  /** The command was executed. */
  | { is: "done"; outcome: O }
  /** The command was not executed, so another one may follow. */
  | { is: "not-done"; outcome: () => O | Promise<O> }
  /** This counts, whether or not the command was executed. */
  | { is: "decided"; outcome: O };

export interface Kind<Row extends ChangeRow, O extends Outcome, Data = unknown> {
  /** The name of its command. A kind without one sends several, and its rows have no other kind. */
  command?: string;
  /** What the command and its `<info>` acquire a session for. */
  purposes: { command: SessionPurpose; info: SessionPurpose };
  /** Whether to commit the attempt before waiting for a session, so that no session idles during the commit. */
  beginsFirst?(row: Row): boolean;
  /** The command, or an outcome in place of sending it. */
  frame(sessions: RegistrySessions, row: Row): Promise<{ command: EppCommand<Data> } | { instead: O }>;
  /**
   * Looks once more, on the session that carries the command, before repeating one that an earlier owner may have sent: its
   * frame may have arrived since. Returns an outcome in place of repeating it.
   */
  checkBeforeRepeat?(session: Lease, sessions: RegistrySessions, row: Row): Promise<O | undefined>;
  /** What a result code means; "unanswered" if it does not say whether the command was executed. */
  meaning(code: number, sessions: RegistrySessions, row: Row): NonNullable<O["event"]>;
  /** The outcome of an answer with any other meaning. */
  answered(sessions: RegistrySessions, row: Row, answer: Answer<O, Data>): O | Promise<O>;
  /** There was no session. */
  unreachable(reason: string): O;
  /** Our command breaks the schema, or needs an extension that the registry does not offer. */
  invalid(attempt: AttemptResult, reason: string, isNotOffered?: true): O;
  /** What `<info>` proves about it. */
  proof(sessions: RegistrySessions, row: Row, name: NameInfo): Proof<O> | Promise<Proof<O>>;
  /** Whether the answer itself is lost, not only its effect in doubt. */
  isLost(row: Row): boolean;
  /** The event of a first look that shows the command executed. */
  seenOnce: NonNullable<O["event"]>;
  /** The outcome while nothing can be believed, with the reason. */
  unknown(sessions: RegistrySessions, row: Row, reason: string): O;
}

const ownAttempts = ({ attempts }: ChangeRow, { command }: { command?: string }) =>
  command === undefined ? attempts : ofCommand(attempts, command);

/** The event of each result code. @param codes the codes of each event */
export function eventsByCode<Event extends string>(codes: Partial<Record<Event, readonly number[]>>) {
  const entries = Object.entries(codes) as [Event, readonly number[]][];
  return new Map(entries.flatMap(([event, list]) => list.map((code) => [code, event] as const)));
}

/**
 * Sends a kind's command, unless an earlier one may still be executed.
 * @throws ChangeConflict, LeaseLost before anything was sent
 */
export async function sendKind<Row extends ChangeRow, O extends Outcome, Data>(
  sessions: RegistrySessions,
  table: ChangeTable<Row, O>,
  row: Row,
  kind: Kind<Row, O, Data>,
): Promise<O> {
  // The process that sent it is gone: it may have been executed.
  if (isInDoubt(row.attempts)) return lostAnswer(sessions) as O;
  const made = await kind.frame(sessions, row);
  if ("instead" in made) return made.instead;
  const before = ofEarlierOwners(ownAttempts(row, kind), sessions.context);
  const isRepeat = before.some(({ result_code }) => result_code === null);
  const options = { table, row, purpose: kind.purposes.command };
  if (!kind.checkBeforeRepeat || !isRepeat) {
    const beginsFirst = kind.beginsFirst?.(row) ?? false;
    const sent = await send(sessions, made.command, { ...options, beginsFirst });
    return outcomeOfSend(sessions, row, kind, made.command, sent);
  }
  try {
    using session = await sessions.pool.acquire(kind.purposes.command, { waitMs: sessionWaitMs });
    const instead = await kind.checkBeforeRepeat(session, sessions, row);
    if (instead) return instead;
    const sent = await send(sessions, made.command, { ...options, session });
    return await outcomeOfSend(sessions, row, kind, made.command, sent);
  } catch (error) {
    if (!(error instanceof EppUnavailable)) throw error;
    return kind.unreachable(error.message);
  }
}

async function outcomeOfSend<Row extends ChangeRow, O extends Outcome, Data>(
  sessions: RegistrySessions,
  row: Row,
  kind: Kind<Row, O, Data>,
  { name: command }: EppCommand<Data>,
  sent: Sent<Data>,
): Promise<O> {
  switch (sent.is) {
    case "answered": {
      const { response } = sent;
      const event = kind.meaning(response.code, sessions, row);
      const attempt = {
        clTrid: sent.clTrid,
        resultCode: response.code,
        svTrid: response.svTRID ?? null,
        isClosed: event !== "unanswered",
      };
      if (event === "unanswered") return lostAnswer(sessions, attempt) as O;
      return kind.answered(sessions, row, { command, event, attempt, response, reason: describeAnswer(response) });
    }
    case "unanswered":
      return lostAnswer(sessions) as O;
    case "unreachable":
      return { ...kind.unreachable(sent.reason), attempt: sent.attempt };
    case "not-sent":
      return { event: "not-executed", attempt: sent.attempt, countsAsFailure: true, reason: sent.reason } as O;
    case "invalid":
      return kind.invalid(sent.attempt, sent.reason, sent.isNotOffered);
  }
}

export interface Answered<Data> {
  is: "answered";
  clTrid: string;
  response: EppResponse<Data>;
}

/** What is known of a command after the call to send it. */
type Sent<Data> =
  | Answered<Data>
  /** Possibly executed; the attempt stays open. */
  | { is: "unanswered"; reason: string }
  /** There was no session; the attempt, if there is one, is closed. */
  | { is: "unreachable"; attempt?: AttemptResult; reason: string }
  /** The session was gone; the attempt is closed. */
  | { is: "not-sent"; attempt: AttemptResult; reason: string }
  /** Our own mistake: it breaks the schema, or the registry does not have its extension. The same would happen again. */
  | { is: "invalid"; attempt: AttemptResult; reason: string; isNotOffered?: true };

interface SendOptions<Row extends ChangeRow, O extends Outcome> {
  table: ChangeTable<Row, O>;
  row: Row;
  /** What it acquires a session for. */
  purpose?: SessionPurpose;
  /** A session that the caller holds; it is released afterwards. */
  session?: Lease;
  /** Commits the attempt before it waits for a session, so that no session idles during the commit. */
  beginsFirst?: boolean;
}

/**
 * Sends a command under its own attempt, whose row is committed before the first byte is written. So an unanswered attempt may have
 * been sent, and a command without an attempt certainly was not.
 * @throws ChangeConflict, LeaseLost before anything was sent
 */
export async function send<Data, Row extends ChangeRow, O extends Outcome>(
  sessions: RegistrySessions,
  command: EppCommand<Data>,
  { table, row, purpose = "transform", session, beginsFirst = false }: SendOptions<Row, O>,
): Promise<Sent<Data>> {
  const beginNow = () => begin(sessions.context, table, row, command.name);
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

/** Asks the registry whether a kind's command was executed. */
export async function verifyKind<Row extends ChangeRow, O extends Outcome, Data>(
  sessions: RegistrySessions,
  row: Row,
  kind: Kind<Row, O, Data>,
): Promise<O> {
  const name = await askInfo(sessions, row.domain_name, kind.purposes.info);
  return believe(sessions, row, kind, await kind.proof(sessions, row, name));
}

/** What follows from a proof now: what it proves, a second look, or a wait while a command may still arrive. */
export async function believe<Row extends ChangeRow, O extends Outcome, Data>(
  sessions: RegistrySessions,
  row: Row,
  kind: Kind<Row, O, Data>,
  proof: Proof<O>,
): Promise<O> {
  const isLost = kind.isLost(row);
  switch (proof.is) {
    case "unknown":
    case "decided":
      return proof.outcome;
    case "done": {
      if (!isLost || row.confirm_after !== null) return proof.outcome;
      // RFC 5734 §3: a server that loses the connection may still undo what it did. A second look decides.
      const confirmAfter = later(sessions, sessions.profile.settleMs);
      return { event: kind.seenOnce, confirmAfter, nextStepAt: confirmAfter } as O;
    }
    case "not-done": {
      const { context, profile } = sessions;
      const lateMs = lateFrameMs(context.lease, profile.takeoverSettleMs);
      const open = unansweredAttempts(ownAttempts(row, kind));
      if (!isLost || lateMs === 0 || ofEarlierOwners(open, context).length === 0) {
        return { reason: notExecuted(row, kind), ...(await proof.outcome()) };
      }
      const reason = "the worker before this one may have sent a command that is still on its way";
      const outcome = kind.unknown(sessions, row, reason);
      return { ...outcome, countsAsFailure: false, nextStepAt: later(sessions, lateMs) };
    }
  }
}

/** Says what became of the last command, so that nobody reads the reason of a look that failed meanwhile. */
function notExecuted(row: ChangeRow, kind: { command?: string }): string | undefined {
  const sent = ownAttempts(row, kind).at(-1);
  if (!sent) return undefined;
  const answer = sent.result_code === null ? "was not answered" : `was answered ${sent.result_code}`;
  return `${sent.command} ${answer}, and the registry shows that it was not executed`;
}
