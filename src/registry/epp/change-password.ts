/**
 * Changes our password at the registry. Only a login can do that (RFC 5730 §2.9.1.1). When the answer is lost, two more logins
 * find out which password is valid: first with the new one, then with the old one. There is no third, because registries lock
 * accounts after repeated failures.
 */
import { sleep } from "#lib/clock.ts";
import type { Secret } from "#lib/secret.ts";
import { EppUnanswered, EppUnavailable } from "#registry/epp/errors.ts";
import type { EppPoolOptions } from "#registry/epp/pool/pool.ts";
import { openSession } from "#registry/epp/session.ts";
import { eppTimeoutsDefault } from "#registry/epp/timeouts.ts";
import { loadFrameValidator } from "#registry/epp/xml/schema.ts";

/** The login whose password changes; `password` is the one that is valid now, as far as we know. */
export type PasswordChangeOptions = Pick<
  EppPoolOptions,
  "host" | "port" | "tls" | "registrarId" | "password" | "services" | "timeouts" | "clock" | "random" | "onFrame"
> & {
  /** How long after a lost answer the registry may still execute the login. */
  readonly settleMs: number;
};

export interface PasswordChange {
  /** `unknown`: either password may be valid. */
  readonly result: "changed" | "unchanged" | "unknown";
  /** Why it was not changed, for people. Contains no secret. */
  readonly reason: string | undefined;
}

/** Opens a session whose login changes the password, and closes it. Whatever the registry does, it does not throw. */
export async function changePassword(options: PasswordChangeOptions, newPassword: Secret): Promise<PasswordChange> {
  const failure = await logInOnce(options, options.password, newPassword);
  if (!failure) return { result: "changed", reason: undefined };
  if (!isInDoubt(failure)) return { result: "unchanged", reason: failure.message };
  await sleep(options.settleMs);
  return findPassword(options, newPassword);
}

/** Finds out which password is valid, with at most two logins: `changed` means the new one. */
export async function findPassword(options: PasswordChangeOptions, newPassword: Secret): Promise<PasswordChange> {
  const withNew = await logInOnce(options, newPassword);
  if (!withNew) return { result: "changed", reason: undefined };
  const withOld = await logInOnce(options, options.password);
  if (!withOld) return { result: "unchanged", reason: withNew.message };
  return { result: "unknown", reason: withOld.message };
}

/** Logs in and out. @returns the error, if the login failed */
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
 * Whether the login may have been executed: it was sent, and its answer was lost, unreadable or a server failure. Assuming that
 * it was not would lose the only copy of the new password.
 */
function isInDoubt({ reason, cause, resultCode }: EppUnavailable): boolean {
  return reason === "login" && (cause instanceof EppUnanswered || resultCode === 2400 || resultCode === 2500);
}
