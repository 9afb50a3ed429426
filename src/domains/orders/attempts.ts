/** The commands of an order, and which of them may still be executed. */
import type { OwnerContext } from "#domains/registry/sessions.ts";

/** A command of an order. Its row is committed before its first byte is written. */
export interface Attempt {
  command: string;
  committed_at: Date;
  /** Null while the command may still be executed. */
  answered_at: Date | null;
  result_code: number | null;
  /** The epoch of the owner that sent it. */
  epoch: number;
}

/** SQL: an order's attempts as JSON. @param id SQL */
export const attemptsOf = (id: string) => `
  coalesce((SELECT jsonb_agg(jsonb_build_object('command', command, 'committed_at', committed_at,
       'answered_at', answered_at, 'result_code', result_code, 'epoch', epoch) ORDER BY number)
     FROM attempts WHERE attempts.order_id = ${id}), '[]')`;

type AttemptJson = Omit<Attempt, "committed_at" | "answered_at"> & { committed_at: string; answered_at: string | null };

export function parseAttempts(json: unknown): Attempt[] {
  return (json as AttemptJson[]).map(({ committed_at, answered_at, ...rest }) => ({
    ...rest,
    committed_at: new Date(committed_at),
    answered_at: answered_at === null ? null : new Date(answered_at),
  }));
}

/** Attempts that may still be executed. */
export const unansweredAttempts = (attempts: readonly Attempt[]) =>
  attempts.filter(({ answered_at }) => answered_at === null);

/** The attempts of an order that must be decided before its next command is sent. */
export const countedAttempts = (
  { attempts }: { attempts: readonly Attempt[] },
  { mayRepeatPreparation }: { mayRepeatPreparation?: true },
) => (mayRepeatPreparation ? attempts.filter(({ command }) => command.startsWith("domain:")) : attempts);

export const ofCommand = (attempts: readonly Attempt[], command: string) =>
  attempts.filter((attempt) => attempt.command === command);

/** Attempts that an earlier owner may have sent. */
export const ofEarlierOwners = (attempts: readonly Attempt[], { lease }: OwnerContext) =>
  attempts.filter(({ epoch }) => epoch !== lease.epoch);

/** What an operator sees of attempts. */
export const selectAttempts = "SELECT cl_trid, command, committed_at, answered_at, result_code, sv_trid FROM attempts";
export const attemptColumns = {
  cl_trid: "text",
  command: "text",
  committed_at: "timestamptz",
  answered_at: "timestamptz?",
  result_code: "int4?",
  sv_trid: "text?",
} as const;
