/** What result codes (RFC 5730 §3) mean for a session. Their meaning for an order depends on the registry's profile. */

/** RFC 5730 §3: codes that begin with 1 are successes, including an action that is still pending; 2 means failure. */
export function isSuccess(code: number): boolean {
  return code >= 1000 && code < 2000;
}

/**
 * Registries answer 2002, 2200 or 2202 when we are not, or no longer, logged in. With 1500 and 2500 to 2502 the server closes
 * the session. After any of these the session is unusable, whatever command was answered.
 */
export function isSessionEnd(code: number): boolean {
  return [1500, 2002, 2200, 2202, 2500, 2501, 2502].includes(code);
}

/** A failure of the registry, not of the command: counts towards opening the circuit. */
export function isServerFault(code: number): boolean {
  return [2400, 2500, 2501, 2502].includes(code);
}

/** The registry ends the session because of wrong credentials. Further logins may lock the account. */
export function isAccountThreat(code: number): boolean {
  return code === 2501;
}

/** At login: the registrar id or password is wrong. Registries lock accounts after repeated failures. */
export function isLoginRefusal(code: number): boolean {
  return code === 2200 || code === 2501;
}

/** At login: an object or extension that we asked for is not available to us. */
export function isServiceRefusal(code: number): boolean {
  return code === 2103 || code === 2307;
}

export const sessionLimitCode = 2502;
