/**
 * A logged-in EPP session: greeting → login → one command at a time. It is discarded as soon as it might be out of step with
 * the registry or logged out.
 */
import type { Clock } from "#lib/clock.ts";
import { secondsSince } from "#lib/measure/measure.ts";
import type { Random } from "#lib/random.ts";
import { reportDefect } from "#lib/report-defect.ts";
import { isLoginRefusal, isServiceRefusal, isSessionEnd, isSuccess, sessionLimitCode } from "#registry/epp/codes.ts";
import type { EppCommand } from "#registry/epp/command.ts";
import { helloFrame } from "#registry/epp/commands/session/hello.ts";
import type { Credentials, EppServices } from "#registry/epp/commands/session/login.ts";
import { login } from "#registry/epp/commands/session/login.ts";
import type { LoginSecurityEvent } from "#registry/epp/commands/session/login-security.ts";
import { isPlainPassword } from "#registry/epp/commands/session/login-security.ts";
import { logout } from "#registry/epp/commands/session/logout.ts";
import { describeConnectFailure } from "#registry/epp/connect-failure.ts";
import type { Connection, ConnectionOptions } from "#registry/epp/connection.ts";
import { openConnection } from "#registry/epp/connection.ts";
import type { Dialect } from "#registry/epp/dialect.ts";
import { EppUnanswered, EppUnavailable } from "#registry/epp/errors.ts";
import type { Greeting } from "#registry/epp/greeting.ts";
import { parseGreeting } from "#registry/epp/greeting.ts";
import { loginSecNamespace } from "#registry/epp/namespaces.ts";
import { hideSecrets, secretsIn } from "#registry/epp/redaction.ts";
import type { ResponseFrame } from "#registry/epp/response.ts";
import { isGreeting, parseResponse } from "#registry/epp/response.ts";
import type { ServiceRequirements } from "#registry/epp/services.ts";
import { chooseServices, notOffered } from "#registry/epp/services.ts";
import type { EppTimeouts } from "#registry/epp/timeouts.ts";
import type { XmlElement } from "#registry/epp/xml/xml.ts";

/** An answer with any result code. */
export interface EppResponse<Data> {
  readonly code: number;
  /** For people only, as are the reasons. */
  readonly message: string;
  readonly reasons: readonly string[];
  readonly clTRID: string;
  readonly svTRID: string | undefined;
  /** The data of a success. */
  readonly data: Data | undefined;
}

export interface RequestOptions {
  /** 3 to 64 characters, never used before. */
  readonly clTRID: string;
  /** Replaces the registry's setting for this kind of command. */
  readonly timeoutMs?: number | undefined;
}

/** What the registry reports in its answer to a login. */
export interface LoginReport {
  /** Whether we are logged in. */
  readonly succeeded: boolean;
  readonly events: readonly LoginSecurityEvent[];
}

export interface SessionOptions extends Omit<ConnectionOptions, "connectMs" | "greetingMs"> {
  readonly credentials: Credentials;
  readonly services: ServiceRequirements;
  /** Default: that of the RFCs. */
  readonly dialect?: Dialect | undefined;
  readonly timeouts: EppTimeouts;
  readonly clock: Clock;
  readonly random: Random;
  /** Called for every login that is answered, with the result code and how long the answer took. Must not throw. */
  readonly onLogin?: ((report: LoginReport, code: number, seconds: number) => void) | undefined;
}

/** A clTRID for commands that belong to no order. */
export function createClTRID(random: Random): string {
  return `dh-${random.bytes(12).toString("hex")}`;
}

/**
 * Connects and logs in, and asks for the services that we require and the registry offers.
 * @throws EppUnavailable with reason connect, not-offered, login or session-limit; no connection stays open
 */
export async function openSession(options: SessionOptions): Promise<EppSession> {
  const { connectMs, greetingMs } = options.timeouts;
  const { connection, first } = await openConnection({ ...options, connectMs, greetingMs }).catch((cause) => {
    throw new EppUnavailable("connect", { cause, detail: describeConnectFailure(cause, options) });
  });
  try {
    const services = chooseServices(options.services, expectGreeting(first));
    const session = new EppSession(connection, services, options);
    await logIn(session, options);
    session.keepAlive();
    return session;
  } catch (error) {
    connection.destroy(error);
    throw error instanceof EppUnavailable ? error : new EppUnavailable("login", { cause: error });
  }
}

/** Some registries send a refusal, such as 2502, instead of the greeting. */
function expectGreeting(first: XmlElement): Greeting {
  let code: number;
  try {
    if (isGreeting(first)) return parseGreeting(first);
    code = parseResponse(first).code;
  } catch (cause) {
    throw new EppUnavailable("connect", { cause });
  }
  throw new EppUnavailable(code === sessionLimitCode ? "session-limit" : "connect", { resultCode: code });
}

async function logIn(session: EppSession, { credentials, timeouts, random, onLogin }: SessionOptions): Promise<void> {
  const isLong = [credentials.password, credentials.newPassword].some((secret) => secret && !isPlainPassword(secret));
  if (isLong && !session.services.extensionURIs.includes(loginSecNamespace)) {
    throw notOffered("the password has more than 16 characters, which needs loginSec (RFC 8807)");
  }
  const command = login(credentials, session.services);
  const beganAtMs = performance.now();
  const answer = await session.request(command, { clTRID: createClTRID(random), timeoutMs: timeouts.loginMs });
  const seconds = secondsSince(beganAtMs);
  const secrets = [credentials.password, credentials.newPassword].flatMap((secret) => secret?.reveal() ?? []);
  const reported = (answer.data ?? []).map((event) => hideIn(event, secrets));
  onLogin?.({ succeeded: isSuccess(answer.code), events: reported }, answer.code, seconds);
  if (isSuccess(answer.code)) return;
  const events = reported.map(({ type, level, text }) => `${type} ${level} ${text}`);
  throw new EppUnavailable(answer.code === sessionLimitCode ? "session-limit" : "login", {
    resultCode: answer.code,
    detail: [answer.message, ...answer.reasons, ...events, ...adviceOn(answer.code, session.services)].join("; "),
  });
}

/** A registry may offer more than it allows our account to use. */
function adviceOn(code: number, { objectURIs, extensionURIs }: EppServices): string[] {
  if (!isServiceRefusal(code)) return [];
  const asked = [...objectURIs, ...extensionURIs].join(", ");
  return [`the login asked for ${asked}; withoutServices in the profile leaves out what the registry does not allow`];
}

function hideIn(event: LoginSecurityEvent, secrets: readonly string[]): LoginSecurityEvent {
  const hide = (text: string | undefined) => text && hideSecrets(text, secrets);
  return { ...event, name: hide(event.name), value: hide(event.value), text: hideSecrets(event.text, secrets) };
}

/**
 * A server that refuses every client may answer without reading the login, and so without its clTRID. A login is the first and
 * only command of its connection, so such a refusal belongs to it. Missing a 2501 here and retrying may lock the account.
 */
function isNamelessRefusal(command: EppCommand<unknown>, { code, clTRID }: ResponseFrame): boolean {
  return command.kind === "session" && clTRID === undefined && !isSuccess(code);
}

/** Whether the registry refused our credentials, as opposed to failing: a retry may lock the account. */
export function isRefusedLogin(error: EppUnavailable): boolean {
  return error.reason === "login" && error.resultCode !== undefined && isLoginRefusal(error.resultCode);
}

export class EppSession {
  /** The services that the login asked for. */
  readonly services: EppServices;
  readonly #connection: Connection;
  readonly #dialect: Dialect | undefined;
  readonly #timeouts: EppTimeouts;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #openedAtMs: number;
  #idleTimer: NodeJS.Timeout | undefined;
  /** Commands without an answer yet: at most one, unless a caller breaks the rule. */
  #inProgress = 0;
  /** Fulfilled when no hello is in progress. */
  #hello: Promise<void> = Promise.resolve();

  constructor(
    connection: Connection,
    services: EppServices,
    options: Pick<SessionOptions, "dialect" | "timeouts" | "clock" | "random">,
  ) {
    this.services = services;
    this.#connection = connection;
    this.#dialect = options.dialect;
    this.#timeouts = options.timeouts;
    this.#clock = options.clock;
    this.#random = options.random;
    this.#openedAtMs = options.clock.monotonicMs();
    connection.closed.then(() => clearTimeout(this.#idleTimer)).catch(reportDefect);
  }

  /** Fulfilled with the reason once the session is closed. */
  get closed(): Promise<Error> {
    return this.#connection.closed;
  }

  /** False when the session must not be lent again. */
  get isUsable(): boolean {
    return this.#connection.isOpen && !this.#isOld && this.#inProgress === 0;
  }

  get #isOld(): boolean {
    return this.#clock.monotonicMs() - this.#openedAtMs > this.#timeouts.sessionAgeMsMax;
  }

  /**
   * Sends one command and returns the registry's answer, whatever its result code.
   * @throws EppNotSent certainly nothing was sent
   * @throws EppUnanswered possibly sent, outcome unknown; the session is closed
   * @throws EppFrameInvalid our frame breaks the schema; nothing was sent
   */
  async request<Data>(plain: EppCommand<Data>, { clTRID, timeoutMs }: RequestOptions): Promise<EppResponse<Data>> {
    const command = this.#dialect?.adapt(plain, this.services.extensionURIs) ?? plain;
    this.#inProgress += 1;
    try {
      await this.#hello;
      clearTimeout(this.#idleTimer);
      const frame = command.frame(clTRID);
      const root = await this.#connection.exchange(frame, timeoutMs ?? this.#timeoutOf(command.kind));
      const response = this.#read(command, clTRID, root, secretsIn(frame));
      if (isSessionEnd(response.code)) this.#connection.destroy(`the registry answered ${response.code}`);
      return response;
    } finally {
      this.#inProgress -= 1;
    }
  }

  #timeoutOf(kind: EppCommand<unknown>["kind"]): number {
    return kind === "transform" ? this.#timeouts.transformMs : this.#timeouts.queryMs;
  }

  #read<Data>(
    command: EppCommand<Data>,
    clTRID: string,
    root: XmlElement,
    secrets: readonly string[],
  ): EppResponse<Data> {
    try {
      const response = parseResponse(root);
      if (response.clTRID !== clTRID && !isNamelessRefusal(command, response)) throw new EppUnanswered("wrong-clTRID");
      const { code, svTRID, resData } = response;
      const message = hideSecrets(response.message, secrets);
      const reasons = response.reasons.map((reason) => hideSecrets(reason, secrets));
      // A refused login may say why in its data, e.g. an expired password.
      const data = isSuccess(code) || command.kind === "session" ? command.parse(resData, response) : undefined;
      return { code, message, reasons, clTRID, svTRID, data };
    } catch (error) {
      this.#connection.destroy(error);
      throw error instanceof EppUnanswered ? error : new EppUnanswered("malformed", error);
    }
  }

  /** Maintains an idle session: sends a hello when it was idle for long, and logs out when it is old. */
  keepAlive(): void {
    clearTimeout(this.#idleTimer);
    if (!this.#connection.isOpen) return;
    this.#idleTimer = setTimeout(() => {
      this.#hello = this.#isOld ? this.close() : this.#sayHello();
    }, this.#timeouts.helloIdleMs);
  }

  async #sayHello(): Promise<void> {
    try {
      await this.hello();
      this.keepAlive();
    } catch (error) {
      this.#connection.destroy(error);
    }
  }

  /** RFC 5730 §2.3, between two commands. @throws EppNotSent, EppUnanswered, XmlError when the answer is not a greeting */
  async hello(): Promise<Greeting> {
    return parseGreeting(await this.#connection.exchange(helloFrame(), this.#timeouts.queryMs));
  }

  /** Logs out, if that is still possible, and closes. Never throws. */
  async close(): Promise<void> {
    try {
      const clTRID = createClTRID(this.#random);
      await this.#connection.exchange(logout().frame(clTRID), this.#timeouts.logoutMs);
    } catch {
      // Closed already, or too slow to log out: closing is all that matters.
    } finally {
      this.#connection.destroy("logged out");
    }
  }

  /** Closes the connection without a logout. A request in progress fails with EppUnanswered. */
  destroy(cause?: unknown): void {
    this.#connection.destroy(cause);
  }
}
