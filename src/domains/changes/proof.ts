/**
 * What the registry shows decides what became of a command, and these are the rules for believing it: nothing before the
 * command's time is over, nothing after one look alone, and nothing is repeated that may still arrive.
 */
import type { Attempt, ChangeRow, Outcome } from "#domains/changes/change.ts";
import { lateFrameMs } from "#domains/registry/owner-lease.ts";
import { type OwnerContext, type RegistrySessions, sessionWaitMs } from "#domains/registry/sessions.ts";
import { type DomainInfo, domainInfo } from "#registry/epp/commands/domain/info.ts";
import type { Lane, Lease } from "#registry/epp/pool/pool.ts";

/** What `<info>` proves about a command. */
export type Proof<O extends Outcome> =
  /** There was no answer to build on: it is asked again. */
  | { is: "unknown"; outcome: O }
  /** The command was executed. */
  | { is: "done"; outcome: O | (() => O) }
  /** It was not, so another one may follow. */
  | { is: "not-done"; outcome: () => O | Promise<O> }
  /** Whatever became of the command, this is what counts. */
  | { is: "decided"; outcome: O };

interface Rules<O extends Outcome> {
  /** Whether the command's answer is lost, and not only its effect in doubt. */
  isLost: boolean;
  /** The command that is in doubt; all without it. */
  command?: string;
  /** The event of a first look that shows it done. */
  seenOnce: NonNullable<O["event"]>;
  /** What it is when nothing can be believed yet, for a reason. */
  unknown: (reason: string) => O;
}

/** What a proof means by now: what it proves, a second look, or another one when nothing is on its way any more. */
export async function believe<O extends Outcome>(
  sessions: RegistrySessions,
  row: ChangeRow,
  proof: Proof<O>,
  { isLost, command, seenOnce, unknown }: Rules<O>,
): Promise<O> {
  switch (proof.is) {
    case "unknown":
    case "decided":
      return proof.outcome;
    case "done": {
      if (!isLost || row.confirm_after !== null) {
        return typeof proof.outcome === "function" ? proof.outcome() : proof.outcome;
      }
      // RFC 5734 §3: a server that loses the connection may still undo what it did. A second look decides.
      const confirmAfter = later(sessions, sessions.profile.settleMs);
      return { event: seenOnce, confirmAfter, nextStepAt: confirmAfter } as O;
    }
    case "not-done": {
      const { context, profile } = sessions;
      const lateMs = lateFrameMs(context.lease, profile.takeoverSettleMs);
      const doubtful = unansweredAttempts(row.attempts).filter(
        (attempt) => command === undefined || attempt.command === command,
      );
      if (!isLost || lateMs === 0 || ofEarlierOwners(doubtful, context).length === 0) return proof.outcome();
      const reason = "the worker before this one may have sent a command that is still on its way";
      return { ...unknown(reason), countsAsFailure: false, nextStepAt: later(sessions, lateMs) };
    }
  }
}

export function later({ context }: Pick<RegistrySessions, "context">, delayMs: number): Date {
  return new Date(context.clock.now().getTime() + delayMs);
}

export type NameInfo =
  /** There was no answer to build on. Not knowing is not absence. */
  | { is: "unknown"; reason: string }
  | { is: "absent" }
  | { is: "held-by-other" }
  /** By our registrar account; through which order is another question. */
  | { is: "held-by-us"; info: DomainInfo };

/** Never throws. @param lane in which it waits for a session: a night's renewals must not hold up a registration */
export async function askInfo(sessions: RegistrySessions, name: string, lane: Lane = "check"): Promise<NameInfo> {
  try {
    using session = await sessions.pool.acquire(lane, { waitMs: sessionWaitMs });
    return await askInfoOn(session, sessions, name);
  } catch (error) {
    return { is: "unknown", reason: error instanceof Error ? error.message : String(error) };
  }
}

/** The same on a session that the caller has. Never throws. */
export async function askInfoOn(session: Lease, sessions: RegistrySessions, name: string): Promise<NameInfo> {
  try {
    const { code, data } = await session.request(domainInfo(name), { clTRID: sessions.queryClTrid() });
    if (code === 2303) return { is: "absent" };
    if (code === 2201) return { is: "held-by-other" };
    if (code !== 1000 || !data) return { is: "unknown", reason: `info was answered with ${code}` };
    return data.clID === sessions.profile.registrarId ? { is: "held-by-us", info: data } : { is: "held-by-other" };
  } catch (error) {
    return { is: "unknown", reason: error instanceof Error ? error.message : String(error) };
  }
}

/** SQL: a change's attempts as JSON. @param subject their column, `order_id` or `renewal_id` @param id SQL too */
export const attemptsOf = (subject: "order_id" | "renewal_id", id: string) => `
  coalesce((SELECT jsonb_agg(jsonb_build_object('command', command, 'committed_at', committed_at,
       'answered_at', answered_at, 'result_code', result_code, 'epoch', epoch) ORDER BY number)
     FROM attempts WHERE attempts.${subject} = ${id}), '[]')`;

type AttemptJson = Omit<Attempt, "committed_at" | "answered_at"> & { committed_at: string; answered_at: string | null };

export function parseAttempts(json: unknown): Attempt[] {
  return (json as AttemptJson[]).map(({ committed_at, answered_at, ...rest }) => ({
    ...rest,
    committed_at: new Date(committed_at),
    answered_at: answered_at === null ? null : new Date(answered_at),
  }));
}

/** Those that may still be executed. */
export const unansweredAttempts = (attempts: readonly Attempt[]) =>
  attempts.filter(({ answered_at }) => answered_at === null);

/** Whether a command that changes the name may still be executed. A contact's does not matter: repeating it is safe. */
export const isInDoubt = (attempts: readonly Attempt[]) =>
  unansweredAttempts(attempts).some(({ command }) => command.startsWith("domain:"));

/** Those of a command. */
export const ofCommand = (attempts: readonly Attempt[], command: string) =>
  attempts.filter((attempt) => attempt.command === command);

/** Those that an owner before this one may have sent. One of a version without epochs counts too. */
export const ofEarlierOwners = (attempts: readonly Attempt[], { lease }: OwnerContext) =>
  attempts.filter(({ epoch }) => epoch !== lease.epoch);

/** Attempts as an operator sees them. */
export const attemptColumns = {
  cl_trid: "text",
  command: "text",
  committed_at: "timestamptz",
  answered_at: "timestamptz?",
  result_code: "int4?",
  sv_trid: "text?",
} as const;
