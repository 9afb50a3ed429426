import type { Clock } from "#lib/clock.ts";
import type { Log } from "#lib/log.ts";
import type { Random } from "#lib/random.ts";
import type { Secret } from "#lib/secret.ts";
import type { EppCommand } from "#registry/epp/command.ts";
import type { PeriodForm } from "#registry/epp/commands/domain/period.ts";
import { passwordCharsMax, passwordCharsMin } from "#registry/epp/commands/session/login-security.ts";
import type { EppTls, FrameTrace } from "#registry/epp/connection.ts";
import type { Dialect } from "#registry/epp/dialect.ts";
import type { CircuitSettings, CircuitStatus } from "#registry/epp/pool/circuit.ts";
import type { ProfilePrices } from "#registry/epp/pool/ordinary-prices.ts";
import { SessionPool } from "#registry/epp/pool/session-pool.ts";
import type { ServiceRequirements } from "#registry/epp/services.ts";
import type { EppResponse, LoginReport, RequestOptions } from "#registry/epp/session.ts";
import type { EppTimeouts } from "#registry/epp/timeouts.ts";
import type { NamePrice, PaidCommand, PremiumPolicy, PricedAvailability } from "#registry/premium.ts";

/**
 * What a session is acquired for, by priority: registrations, then urgent changes of registered names, then other changes.
 * Renewals yield to all of them because they have weeks to complete. Bulk checks yield to all other work.
 */
export type SessionPurpose = "check" | "transform" | "poll" | "urgent-change" | "change" | "renewal" | "bulk-check";
/** A `check` is one that a person or an order waits for, a `bulk-check` one of a list of names. */
export type CheckPurpose = "check" | "bulk-check";

export interface EppPoolOptions {
  /** For logs. */
  readonly registryId: string;
  readonly host: string;
  readonly port: number;
  readonly tls: EppTls;
  readonly registrarId: string;
  readonly password: Secret;
  readonly services: ServiceRequirements;
  /** Default: that of the RFCs. */
  readonly dialect?: Dialect | undefined;
  /** The registry's limit. A single session is shared by checks and all other work. */
  readonly sessionsMax: number;
  /** Sessions that stay open while idle, so that the first caller does not wait for a handshake. Default 0. */
  readonly sessionsMin?: number;
  readonly commandsPerSecond: number;
  /** The period of a registration: checks ask for its price where the registry has the fee extension. Default 1. */
  readonly periodYears?: number;
  /** Default: in years. */
  readonly periodForm?: PeriodForm;
  /** Which premium names a check reports as available; absent: none. */
  readonly premium?: PremiumPolicy | undefined;
  /** What ordinary names cost; absent: what the registry asks for a random label. */
  readonly prices?: ProfilePrices | undefined;
  readonly timeouts?: Partial<EppTimeouts>;
  readonly circuit?: Partial<CircuitSettings>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Gets every frame, with passwords and authInfo redacted. */
  readonly onFrame?: FrameTrace;
  /** Called on every change. Must not throw. */
  readonly onCircuit?: (status: CircuitStatus) => void;
  /** Called for every login that is answered. Must not throw. */
  readonly onLogin?: (report: LoginReport) => void;
  /** Called just before each frame. Once it returns false, connections are reset when they are used or closed. Must not throw. */
  readonly mayWrite?: () => boolean;
}

export interface AcquireOptions {
  readonly waitMs: number;
  /** For a check: whether a caller still waits for it, evaluated when its turn comes. Default: always true. */
  readonly isWanted?: () => boolean;
}

export interface CheckOptions {
  readonly budgetMs: number;
  /** Default: `check`. */
  readonly purpose?: CheckPurpose;
  /** Asks whether the name is free for who has this token (RFC 8495), where the registry has the extension. */
  readonly allocationToken?: Secret | undefined;
}

export interface PriceOptions {
  /** What the question acquires a session for. */
  readonly purpose: SessionPurpose;
  /** How long it waits for one. */
  readonly waitMs: number;
  /** Which premium prices are paid; undefined: none. */
  readonly premium: PremiumPolicy | undefined;
}

/** A lent session. Always release it: `using lease = await pool.acquire(…)`. */
export interface Lease {
  /** Namespaces of this session's extensions: others must not be sent (2103). */
  readonly extensionURIs: readonly string[];
  /**
   * Sends one command at a time and returns the answer, whatever its result code.
   * @throws EppNotSent certainly nothing was sent
   * @throws EppUnanswered possibly sent, outcome unknown; the session is closed
   * @throws EppFrameInvalid our command breaks the schema; nothing was sent
   */
  request<Data>(command: EppCommand<Data>, options: RequestOptions): Promise<EppResponse<Data>>;
  release(): void;
  [Symbol.dispose](): void;
}

export interface EppPool {
  /** @throws EppUnavailable certainly nothing was sent */
  acquire(purpose: SessionPurpose, options: AcquireOptions): Promise<Lease>;
  /**
   * Checks one name; concurrent callers share the answer. A check that no caller waits for is not sent, and one whose session
   * ends is repeated. A name whose price `premium` does not allow is not available, for the reason "Premium". Bulk checks have
   * a separate lane (bulk-lane.ts), and never make another check of the same name wait.
   * @param name an A-label name in lower case
   * @throws EppUnavailable, EppNotSent, EppUnanswered (also when the budget ends first), EppCheckRefused
   */
  checkDomain(name: string, options: CheckOptions): Promise<PricedAvailability>;
  /**
   * Asks what a command about a registered name costs, and whether to pay that. Where fees are not in use, there is no price.
   * @param name an A-label name in lower case
   * @throws EppUnavailable, EppNotSent, EppUnanswered, EppCheckRefused
   */
  findPrice(name: string, asked: PaidCommand, options: PriceOptions): Promise<NamePrice>;
  circuit(): CircuitStatus;
  /**
   * Whether no caller waits for a session and fewer than half of the allowed sessions are lent: there is room for work without
   * haste.
   */
  isIdle(): boolean;
  /** How long the registry has not answered anything since the first unanswered request; 0 while it answers. */
  silentMs(): number;
  /** Probes an open circuit at once. @returns the error if the probe failed; undefined when the circuit is closed */
  probe(): Promise<Error | undefined>;
  /** Lends no more, waits for commands in progress, logs out and closes. After `timeoutMs` it closes in any case. */
  drain(timeoutMs: number): Promise<void>;
}

/** @throws RangeError on settings with which no login can succeed */
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
