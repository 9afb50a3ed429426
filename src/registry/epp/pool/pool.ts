import type { Clock } from "#lib/clock.ts";
import type { Log } from "#lib/log.ts";
import type { Random } from "#lib/random.ts";
import type { Secret } from "#lib/secret.ts";
import type { EppCommand } from "#registry/epp/command.ts";
import type { DomainAvailability } from "#registry/epp/commands/domain/check.ts";
import { passwordCharsMax, passwordCharsMin } from "#registry/epp/commands/session/login-security.ts";
import type { EppTls, FrameTrace } from "#registry/epp/connection.ts";
import type { CircuitSettings, CircuitStatus } from "#registry/epp/pool/circuit.ts";
import { SessionPool } from "#registry/epp/pool/session-pool.ts";
import type { ServiceRequirements } from "#registry/epp/services.ts";
import type { EppResponse, LoginReport, RequestOptions } from "#registry/epp/session.ts";
import type { EppTimeouts } from "#registry/epp/timeouts.ts";
import type { PremiumPolicy } from "#registry/premium.ts";

/** What a session is wanted for; a renewal has weeks, and lets the others go first. */
export type SessionPurpose = "check" | "transform" | "poll" | "renewal";

export interface EppPoolOptions {
  /** For logs. */
  readonly registryId: string;
  readonly host: string;
  readonly port: number;
  readonly tls: EppTls;
  readonly registrarId: string;
  readonly password: Secret;
  readonly services: ServiceRequirements;
  /** What the registry allows us. With one session, checks share it with everything else. */
  readonly sessionsMax: number;
  /** Kept open while nobody needs them, so that the first caller does not wait for a handshake. Default 0. */
  readonly sessionsMin?: number;
  readonly commandsPerSecond: number;
  /** For how long names are registered: checks ask for that price, where the registry tells prices. Default 1. */
  readonly periodYears?: number;
  /** Which names with a price of their own a check calls available; absent: none. */
  readonly premium?: PremiumPolicy | undefined;
  readonly timeouts?: Partial<EppTimeouts>;
  readonly circuit?: Partial<CircuitSettings>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Sees every frame, passwords and authInfo redacted. */
  readonly onFrame?: FrameTrace;
  /** Told of every change. Must not throw. */
  readonly onCircuit?: (status: CircuitStatus) => void;
  /** Told of every login that is answered. Must not throw. */
  readonly onLogin?: (report: LoginReport) => void;
  /** Asked just before each frame; after a no, every connection is reset as soon as it is used or closed. Must not throw. */
  readonly mayWrite?: () => boolean;
}

export interface AcquireOptions {
  readonly waitMs: number;
  /** Of a check: whether somebody still waits for what it is wanted for; looked at whenever its turn comes. Default: yes. */
  readonly isWanted?: () => boolean;
}

/** A session on loan. Give it back in every case: `using lease = await pool.acquire(…)`. */
export interface Lease {
  /** Namespaces of the extensions that this session has: others must not be sent (2103). */
  readonly extensionURIs: readonly string[];
  /**
   * Sends one command, one at a time, and returns the answer, whatever its result code.
   * @throws EppNotSent certainly nothing was sent
   * @throws EppUnanswered possibly sent, outcome unknown; the session is gone
   * @throws EppFrameInvalid the command breaks the schema: our mistake; nothing was sent
   */
  request<Data>(command: EppCommand<Data>, options: RequestOptions): Promise<EppResponse<Data>>;
  release(): void;
  [Symbol.dispose](): void;
}

export interface EppPool {
  /** @throws EppUnavailable certainly nothing was sent */
  acquire(purpose: SessionPurpose, options: AcquireOptions): Promise<Lease>;
  /**
   * Asks the registry about one name; callers who ask at the same time share the answer. What nobody waits for any more is
   * not sent, and what a session's end leaves unanswered is asked again. A name with a price that `premium` does not allow
   * is not available, for the reason "Premium".
   * @param name an A-label name in lower case
   * @throws EppUnavailable, EppNotSent, EppUnanswered (also when the budget ends first), EppCheckRefused
   */
  checkDomain(name: string, options: { readonly budgetMs: number }): Promise<DomainAvailability>;
  circuit(): CircuitStatus;
  /** For how long the registry has given no sign of life although it was asked for one: 0 as long as it answers. */
  silentMs(): number;
  /** Probes an open circuit at once. @returns what that failed with; nothing where the circuit is closed by then */
  probe(): Promise<Error | undefined>;
  /** Lends no more, waits for what is in flight, logs out and closes. After `timeoutMs` it closes regardless. */
  drain(timeoutMs: number): Promise<void>;
}

/** @throws RangeError on settings that no login could succeed with */
export function createEppPool(options: EppPoolOptions): EppPool {
  const passwordChars = options.password.reveal().length;
  if (passwordChars < passwordCharsMin || passwordChars > passwordCharsMax) {
    throw new RangeError(`an EPP password has ${passwordCharsMin} to ${passwordCharsMax} characters`);
  }
  if (!/^\S{3,16}$/.test(options.registrarId)) throw new RangeError("an EPP registrar id has 3 to 16 characters");
  if (options.sessionsMax < 1) throw new RangeError("a pool needs at least one session");
  if (options.commandsPerSecond <= 0) throw new RangeError("a pool needs some commands per second");
  return new SessionPool(options);
}
