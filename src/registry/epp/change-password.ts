/**
 * Changes the password that we log in with (RFC 5730 §2.9.1.1: only a login can). A registry that changed it and whose
 * answer was lost is asked which password holds, by logging in: with the new one, then with the old one, and never more
 * often, because registries lock accounts that keep trying.
 */
import { sleep } from "#lib/clock.ts";
import type { Secret } from "#lib/secret.ts";
import { EppUnanswered, EppUnavailable } from "#registry/epp/errors.ts";
import type { EppPoolOptions } from "#registry/epp/pool/pool.ts";
import { openSession } from "#registry/epp/session.ts";
import { eppTimeoutsDefault } from "#registry/epp/timeouts.ts";
import { loadFrameValidator } from "#registry/epp/xml/schema.ts";

/** Whose password; `password` is the one that holds now, as far as we know. */
export type PasswordChangeOptions = Pick<
  EppPoolOptions,
  "host" | "port" | "tls" | "registrarId" | "password" | "services" | "timeouts" | "clock" | "random" | "onFrame"
> & {
  /** How long after a lost answer the registry may still be at work on it. */
  readonly settleMs: number;
};

export interface PasswordChange {
  /** `unknown`: either password may hold. */
  readonly result: "changed" | "unchanged" | "unknown";
  /** Why it is not changed, for people; no secret is in it. */
  readonly reason: string | undefined;
}

/** Opens one session, whose login changes the password, and closes it. Never throws for what the registry does. */
export async function changePassword(options: PasswordChangeOptions, newPassword: Secret): Promise<PasswordChange> {
  const failure = await logInOnce(options, options.password, newPassword);
  if (!failure) return { result: "changed", reason: undefined };
  if (!isInDoubt(failure)) return { result: "unchanged", reason: failure.message };
  await sleep(options.settleMs);
  return findPassword(options, newPassword);
}

/** Which of the two passwords holds: `changed` is the new one. At most two logins. */
export async function findPassword(options: PasswordChangeOptions, newPassword: Secret): Promise<PasswordChange> {
  const withNew = await logInOnce(options, newPassword);
  if (!withNew) return { result: "changed", reason: undefined };
  const withOld = await logInOnce(options, options.password);
  if (!withOld) return { result: "unchanged", reason: withNew.message };
  return { result: "unknown", reason: withOld.message };
}

/** Logs in and out again. @returns what it failed with, if it did */
async function logInOnce(
  options: PasswordChangeOptions,
  password: Secret,
  newPassword?: Secret,
): Promise<EppUnavailable | undefined> {
  const { host, port, tls, services, registrarId, clock, random, onFrame } = options;
  try {
    const session = await openSession({
      host,
      port,
      tls,
      services,
      clock,
      random,
      credentials: { registrarId, password, newPassword },
      timeouts: { ...eppTimeoutsDefault, ...options.timeouts },
      validate: await loadFrameValidator(),
      trace: onFrame,
      signal: new AbortController().signal,
    });
    await session.close();
    return undefined;
  } catch (error) {
    if (error instanceof EppUnavailable) return error;
    throw error;
  }
}

/**
 * Whether the login may have been executed: it was sent, and no answer to it was understood, or the server failed over it.
 * Who would believe too soon that nothing has happened throws the only copy of the new password away.
 */
function isInDoubt({ reason, cause, resultCode }: EppUnavailable): boolean {
  return reason === "login" && (cause instanceof EppUnanswered || resultCode === 2400 || resultCode === 2500);
}
