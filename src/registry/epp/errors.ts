import type { Secret } from "#lib/secret.ts";
import { isServerFault, isSessionEnd } from "#registry/epp/codes.ts";

export type EppUnavailableReason =
  | "circuit-open"
  | "connect"
  /** The registry does not offer something that we require. */
  | "not-offered"
  | "login"
  | "session-limit"
  | "pool-full"
  | "draining";

/** There is no session. Certainly nothing was sent for the caller. */
export class EppUnavailable extends Error {
  override name = "EppUnavailable";
  readonly reason: EppUnavailableReason;
  /** The registry's result code, if it refused. */
  readonly resultCode: number | undefined;
  /** How long retries are pointless, if that is known. */
  readonly retryAfterMs: number | undefined;
  constructor(
    reason: EppUnavailableReason,
    details: { resultCode?: number; retryAfterMs?: number; detail?: string; cause?: unknown } = {},
  ) {
    const code = details.resultCode === undefined ? "" : ` (result code ${details.resultCode})`;
    const detail = details.detail === undefined ? "" : `: ${details.detail}`;
    super(`no session with the registry: ${reason}${code}${detail}`, { cause: details.cause });
    this.reason = reason;
    this.resultCode = details.resultCode;
    this.retryAfterMs = details.retryAfterMs;
  }
}

export type EppUnansweredReason = "timeout" | "closed" | "malformed" | "wrong-clTRID" | "unsolicited";

/** The command was possibly sent and possibly executed. Its answer will never be read; the session is destroyed. */
export class EppUnanswered extends Error {
  override name = "EppUnanswered";
  readonly reason: EppUnansweredReason;
  /** The beginning of a malformed answer, as text. */
  readonly head: Secret | undefined;
  constructor(reason: EppUnansweredReason, cause?: unknown, head?: Secret) {
    super(`the registry's answer is unknown: ${reason}`, { cause });
    this.reason = reason;
    this.head = head;
  }
}

/** The session was already closed. Certainly no byte of the command was written. */
export class EppNotSent extends Error {
  override name = "EppNotSent";
  constructor(cause?: unknown) {
    super("the command was not sent: the session is closed", { cause });
  }
}

/** The registry answered a check with a failure instead of an availability. */
export class EppCheckRefused extends Error {
  override name = "EppCheckRefused";
  readonly resultCode: number;
  constructor(resultCode: number, message: string) {
    super(`the registry refused the check with ${resultCode}: ${message}`);
    this.resultCode = resultCode;
  }

  /** Whether the registry refuses this question itself, and would again: it is neither out of order nor ending the session. */
  get isAboutQuestion(): boolean {
    return !isServerFault(this.resultCode) && !isSessionEnd(this.resultCode);
  }
}
