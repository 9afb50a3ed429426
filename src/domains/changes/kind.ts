/**
 * A kind of change at a registry: what only it has. How a command is sent, when it may be sent again and what is believed of it
 * is the same for all kinds, and is here.
 */
import type { AttemptResult, ChangeRow, ChangeTable, Outcome } from "#domains/changes/change.ts";
import {
  askInfo,
  believe,
  isInDoubt,
  type NameInfo,
  ofCommand,
  ofEarlierOwners,
  type Proof,
} from "#domains/changes/proof.ts";
import { answeredAttempt, describeAnswer, lostAnswer, type Sent, send } from "#domains/changes/send.ts";
import { type RegistrySessions, sessionWaitMs } from "#domains/registry/sessions.ts";
import type { EppCommand } from "#registry/epp/command.ts";
import { EppUnavailable } from "#registry/epp/errors.ts";
import type { Lane, Lease } from "#registry/epp/pool/pool.ts";
import type { EppResponse } from "#registry/epp/session.ts";

/** An answer of the registry, with what its code means. */
export interface Answer<O extends Outcome, Data> {
  event: NonNullable<O["event"]>;
  attempt: AttemptResult;
  response: EppResponse<Data>;
  /** What the registry said, for people. */
  reason: string;
}

export interface Kind<Row extends ChangeRow, O extends Outcome, Data = unknown> {
  /** The name of its command. */
  command: string;
  /** The line in which it waits for a session, and so does its question. */
  lanes: { command: Lane; info: Lane };
  /** Whether so many may be under way that none should hold a session while its attempt row is committed. */
  beginsFirst?(row: Row): boolean;
  /** The command, or what happens in place of sending it. */
  frame(sessions: RegistrySessions, row: Row): Promise<{ command: EppCommand<Data> } | { instead: O }>;
  /**
   * Looks once more, on the session that carries the command, before one is repeated that an owner before this one may have sent:
   * its frame may have come since. Returns what happens in place of repeating it.
   */
  checkBeforeRepeat?(session: Lease, sessions: RegistrySessions, row: Row): Promise<O | undefined>;
  /** What a result code means; "unanswered" is an answer that does not say whether it was executed. */
  meaning(code: number, sessions: RegistrySessions): NonNullable<O["event"]>;
  /** What an answer with any other meaning is for the change. */
  answered(sessions: RegistrySessions, row: Row, answer: Answer<O, Data>): O | Promise<O>;
  /** There was no session. */
  unreachable(reason: string): O;
  /** The command breaks the schema, by our own fault. */
  invalid(attempt: AttemptResult, reason: string): O;
  /** What `<info>` proves about it. */
  proof(sessions: RegistrySessions, row: Row, name: NameInfo): Proof<O> | Promise<Proof<O>>;
  /** Whether its answer is lost, and not only its effect in doubt. */
  isLost(row: Row): boolean;
  /** The event of a first look that shows it done. */
  seenOnce: NonNullable<O["event"]>;
  /** What it is while nothing can be believed, for a reason. */
  unknown(sessions: RegistrySessions, row: Row, reason: string): O;
}

/** Sends a kind's command, unless an earlier one may still be executed. @throws ChangeConflict, LeaseLost before anything was sent */
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
  const before = ofEarlierOwners(ofCommand(row.attempts, kind.command), sessions.context);
  const isRepeat = before.some(({ result_code }) => result_code === null);
  const how = { table, row, lane: kind.lanes.command };
  if (!kind.checkBeforeRepeat || !isRepeat) {
    const beginsFirst = kind.beginsFirst?.(row) ?? false;
    return outcomeOfSend(sessions, row, kind, await send(sessions, made.command, { ...how, beginsFirst }));
  }
  try {
    using session = await sessions.pool.acquire(kind.lanes.command, { waitMs: sessionWaitMs });
    const instead = await kind.checkBeforeRepeat(session, sessions, row);
    return (
      instead ?? (await outcomeOfSend(sessions, row, kind, await send(sessions, made.command, { ...how, session })))
    );
  } catch (error) {
    if (!(error instanceof EppUnavailable)) throw error;
    return kind.unreachable(error.message);
  }
}

/** What became of a command, as far as it is known. */
async function outcomeOfSend<Row extends ChangeRow, O extends Outcome, Data>(
  sessions: RegistrySessions,
  row: Row,
  kind: Kind<Row, O, Data>,
  sent: Sent<Data>,
): Promise<O> {
  switch (sent.is) {
    case "answered": {
      const { response } = sent;
      const event = kind.meaning(response.code, sessions);
      const attempt = answeredAttempt(sent, event !== "unanswered");
      if (event === "unanswered") return lostAnswer(sessions, attempt) as O;
      return kind.answered(sessions, row, { event, attempt, response, reason: describeAnswer(response) });
    }
    case "unanswered":
      return lostAnswer(sessions) as O;
    case "unreachable":
      return { ...kind.unreachable(sent.reason), attempt: sent.attempt };
    case "not-sent":
      return { event: "not-executed", attempt: sent.attempt, countsAsFailure: true } as O;
    case "invalid":
      return kind.invalid(sent.attempt, sent.reason);
  }
}

/** Asks the registry what became of a kind's command. */
export async function verifyKind<Row extends ChangeRow, O extends Outcome, Data>(
  sessions: RegistrySessions,
  row: Row,
  kind: Kind<Row, O, Data>,
): Promise<O> {
  const name = await askInfo(sessions, row.domain_name, kind.lanes.info);
  return believeKind(sessions, row, kind, await kind.proof(sessions, row, name));
}

/** What a proof means by now, by the rules for all kinds. */
export function believeKind<Row extends ChangeRow, O extends Outcome, Data>(
  sessions: RegistrySessions,
  row: Row,
  kind: Kind<Row, O, Data>,
  proof: Proof<O>,
): Promise<O> {
  return believe(sessions, row, proof, {
    isLost: kind.isLost(row),
    command: kind.command,
    seenOnce: kind.seenOnce,
    unknown: (reason) => kind.unknown(sessions, row, reason),
  });
}
