/** What the result codes mean (RFC 5730 §3). What they do to an order is decided elsewhere: registries differ. */
export const resultCodes: ReadonlyMap<number, string> = new Map([
  [1000, "command completed successfully"],
  [1001, "command completed successfully; action pending"],
  [1300, "command completed successfully; no messages"],
  [1301, "command completed successfully; ack to dequeue"],
  [1500, "command completed successfully; ending session"],
  [2000, "unknown command"],
  [2001, "command syntax error"],
  [2002, "command use error"],
  [2003, "required parameter missing"],
  [2004, "parameter value range error"],
  [2005, "parameter value syntax error"],
  [2100, "unimplemented protocol version"],
  [2101, "unimplemented command"],
  [2102, "unimplemented option"],
  [2103, "unimplemented extension"],
  [2104, "billing failure"],
  [2105, "object is not eligible for renewal"],
  [2106, "object is not eligible for transfer"],
  [2200, "authentication error"],
  [2201, "authorization error"],
  [2202, "invalid authorization information"],
  [2300, "object pending transfer"],
  [2301, "object not pending transfer"],
  [2302, "object exists"],
  [2303, "object does not exist"],
  [2304, "object status prohibits operation"],
  [2305, "object association prohibits operation"],
  [2306, "parameter value policy error"],
  [2307, "unimplemented object service"],
  [2308, "data management policy violation"],
  [2400, "command failed"],
  [2500, "command failed; server closing connection"],
  [2501, "authentication error; server closing connection"],
  [2502, "session limit exceeded; server closing connection"],
]);

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

/** At login: the registrar id or password is wrong, and registries lock accounts that keep trying. */
export function isLoginRefusal(code: number): boolean {
  return code === 2200 || code === 2501;
}

export const sessionLimitCode = 2502;
