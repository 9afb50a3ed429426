/** What result codes (RFC 5730 §3) mean for a session. What they do to an order is decided elsewhere: registries differ. */

/** RFC 5730 §3: the first digit 1 is success, also of an action that is still pending; 2 is failure. */
export function isSuccess(code: number): boolean {
  return code >= 1000 && code < 2000;
}

/**
 * Registries say "you are not logged in (any more)" with any of 2002, 2200 and 2202; 2500 to 2502 and 1500 announce that
 * the server closes. After these the session is of no use, whatever command was answered.
 */
export function isSessionEnd(code: number): boolean {
  return [1500, 2002, 2200, 2202, 2500, 2501, 2502].includes(code);
}

/** The registry's own trouble rather than the command's: counts towards opening the circuit. */
export function isServerFault(code: number): boolean {
  return [2400, 2500, 2501, 2502].includes(code);
}

/** The registry ends the session because of wrong credentials, whatever was asked: going on may lock the account. */
export function isAccountThreat(code: number): boolean {
  return code === 2501;
}

/** At login: the registrar id or password is wrong, and registries lock accounts that keep trying. */
export function isLoginRefusal(code: number): boolean {
  return code === 2200 || code === 2501;
}

/** At login: an object or extension that we asked for is not to be had. */
export function isServiceRefusal(code: number): boolean {
  return code === 2103 || code === 2307;
}

export const sessionLimitCode = 2502;
