/**
 * The sessions with one registry. A session is opened when a caller waits for one, or when fewer than `sessionsMin` are open. It
 * is lent to one caller at a time: to checks first, to renewals and bulk checks last (waiting-line.ts). One session is reserved for
 * checks, so that an interactive check never waits for a create, and one more for orders that do not have time.
 */
import { sleep } from "#lib/clock.ts";
import type { Log } from "#lib/log.ts";
import { measure, secondsSince, showing } from "#lib/measure/measure.ts";
import { inSpan, type OpenSpan } from "#lib/measure/tracing.ts";
import { reportDefect } from "#lib/report-defect.ts";
import { isAccountThreat, isServerFault } from "#registry/epp/codes.ts";
import type { EppCommand } from "#registry/epp/command.ts";
import { EppNotSent, EppUnanswered, EppUnavailable } from "#registry/epp/errors.ts";
import type { CircuitStatus } from "#registry/epp/pool/circuit.ts";
import { Circuit, circuitSettingsDefault } from "#registry/epp/pool/circuit.ts";
import { CoalescedChecks } from "#registry/epp/pool/coalesced-checks.ts";
import { PaidPrices } from "#registry/epp/pool/paid-prices.ts";
import type {
  AcquireOptions,
  CheckOptions,
  EppPool,
  EppPoolOptions,
  Lease,
  PriceOptions,
  SessionPurpose,
} from "#registry/epp/pool/pool.ts";
import { isSessionLimit, SessionOpener } from "#registry/epp/pool/session-opener.ts";
import { SignsOfLife } from "#registry/epp/pool/signs-of-life.ts";
import { TokenBucket } from "#registry/epp/pool/token-bucket.ts";
import { type FreeSessions, isPatient, rankOf, type Waiter, WaitingLine } from "#registry/epp/pool/waiting-line.ts";
import type { EppResponse, EppSession, RequestOptions } from "#registry/epp/session.ts";
import { isRefusedLogin } from "#registry/epp/session.ts";
import type { EppTimeouts } from "#registry/epp/timeouts.ts";
import { eppTimeoutsDefault } from "#registry/epp/timeouts.ts";
import type { NamePrice, PaidCommand, PricedAvailability } from "#registry/premium.ts";

export class SessionPool implements EppPool {
  readonly #options: EppPoolOptions;
  readonly #log: Log;
  readonly #opener: SessionOpener;
  readonly #circuit: Circuit;
  readonly #bucket: TokenBucket;
  readonly #checks: CoalescedChecks;
  readonly #prices: PaidPrices;
  readonly #signs: SignsOfLife;
  readonly #idle: EppSession[] = [];
  readonly #lent = new Map<EppSession, SessionPurpose>();
  readonly #closing = new Map<EppSession, Promise<void>>();
  readonly #waiters: WaitingLine;
  #isDraining = false;
  #probeFailure: unknown;
  readonly #stopShowing: () => void;
  readonly #allReturned = Promise.withResolvers<void>();

  constructor(options: EppPoolOptions) {
    this.#options = options;
    this.#log = options.log.child({ registry: options.registryId });
    const timeouts: EppTimeouts = { ...eppTimeoutsDefault, ...options.timeouts };
    this.#bucket = new TokenBucket(options.commandsPerSecond, options.clock);
    this.#waiters = new WaitingLine(options.clock);
    this.#signs = new SignsOfLife(options.clock);
    this.#checks = new CoalescedChecks(this, { ...options, waitMs: timeouts.queryMs });
    this.#prices = new PaidPrices(this, options);
    this.#circuit = new Circuit({
      settings: { ...circuitSettingsDefault, ...options.circuit },
      clock: options.clock,
      random: options.random,
      probe: () => this.#probe(),
      onChange: (status) => this.#onCircuit(status),
    });
    this.#opener = new SessionOpener({ pool: options, timeouts, log: this.#log, onPauseOver: () => this.#serve() });
    this.#stopShowing = showing("epp_sessions", () => this.#sessions());
    this.#serve();
  }

  #sessions() {
    const registry = this.#options.registryId;
    const opening = this.#opener.count + this.#closing.size;
    const counts = { lent: this.#lent.size, idle: this.#idle.length, opening };
    return Object.entries(counts).map(([state, sessions]) => [{ registry, state }, sessions] as const);
  }

  async acquire(purpose: SessionPurpose, options: AcquireOptions): Promise<Lease> {
    if (this.#isDraining) throw new EppUnavailable("draining");
    if (!this.#circuit.isClosed) throw this.#circuitOpen();
    // No session is open and logins are paused: fail with the last login's error.
    if (this.#sessionCount === 0 && this.#opener.pauseCause) throw this.#opener.pauseCause;
    const lease = this.#waiters.join(purpose, options);
    this.#serve();
    return lease;
  }

  #circuitOpen(): EppUnavailable {
    return new EppUnavailable("circuit-open", { retryAfterMs: this.#circuit.status().retryAfterMs });
  }

  checkDomain(name: string, options: CheckOptions): Promise<PricedAvailability> {
    return this.#checks.check(name, options);
  }

  findPrice(name: string, asked: PaidCommand, options: PriceOptions): Promise<NamePrice> {
    return this.#prices.find(name, asked, options);
  }

  circuit(): CircuitStatus {
    return this.#circuit.status();
  }

  isIdle(): boolean {
    if (this.#isDraining || !this.#circuit.isClosed) return false;
    return this.#waiters.count === 0 && this.#lent.size * 2 < this.#options.sessionsMax;
  }

  silentMs(): number {
    return this.#signs.silentMs();
  }

  async probe(): Promise<Error | undefined> {
    await this.#circuit.probeNow();
    if (this.#circuit.isClosed) return undefined;
    return this.#probeFailure instanceof Error ? this.#probeFailure : new EppUnavailable("draining");
  }

  async drain(timeoutMs: number): Promise<void> {
    this.#isDraining = true;
    this.#circuit.stop();
    this.#waiters.refuseAll(new EppUnavailable("draining"));
    if (this.#lent.size === 0) this.#allReturned.resolve();
    this.#closeIdle();
    const inTime = new AbortController();
    const late = sleep(timeoutMs, inTime.signal);
    await Promise.race([this.#settled(), late]);
    inTime.abort();
    this.#opener.abandon();
    for (const session of [...this.#lent.keys(), ...this.#closing.keys()]) session.destroy("the pool is drained");
    this.#stopShowing();
  }

  async #settled(): Promise<void> {
    await this.#allReturned.promise;
    await this.#opener.settled();
    await Promise.all(this.#closing.values());
  }

  /** Lends idle sessions to the next callers, and opens more for the others up to the limit. */
  #serve(): void {
    for (;;) {
      const waiter = this.#waiters.next(this.#free());
      const session = waiter && this.#takeIdle();
      if (!session) break;
      this.#lend(session, waiter);
    }
    const needed = this.#waiters.servable(this.#free());
    const kept = this.#options.sessionsMin ?? 0;
    while (this.#mayOpen && (this.#opener.count < needed || this.#sessionCount < kept)) this.#openOne();
  }

  get #mayOpen(): boolean {
    if (this.#isDraining || !this.#circuit.isClosed || this.#opener.pauseCause) return false;
    return this.#sessionCount < this.#opener.sessionsMax;
  }

  /** How many sessions may still be lent to whom. */
  #free(): FreeSessions {
    const lent = [...this.#lent.values()];
    const forOrders = Math.max(1, this.#opener.sessionsMax - 1);
    const forPatient = forOrders > 2 ? forOrders - 1 : forOrders;
    const orders = forOrders - lent.filter((purpose) => purpose !== "check").length;
    return { orders, patient: Math.min(orders, forPatient - lent.filter(isPatient).length) };
  }

  get #sessionCount(): number {
    return this.#idle.length + this.#lent.size + this.#opener.count + this.#closing.size;
  }

  #takeIdle(): EppSession | undefined {
    for (let session = this.#idle.pop(); session; session = this.#idle.pop()) {
      if (session.isUsable) return session;
      this.#close(session);
    }
    return undefined;
  }

  #lend(session: EppSession, waiter: Waiter): void {
    this.#lent.set(session, waiter.purpose);
    this.#waiters.serve(waiter, this.#leaseOf(session, waiter));
  }

  #leaseOf(session: EppSession, { purpose, isWanted }: Waiter): Lease {
    let isReleased = false;
    const release = () => {
      if (isReleased) return;
      isReleased = true;
      this.#takeBack(session);
    };
    return {
      extensionURIs: session.services.extensionURIs,
      request: async (command, requestOptions) => {
        const rankMs = rankOf(purpose, this.#options.clock);
        const isItsTurn = await this.#bucket.take({ rankMs, isWanted, isPatient: isPatient(purpose) });
        if (!isItsTurn) throw new EppNotSent("no caller waits for it");
        if (isReleased) throw new EppNotSent("the lease was released");
        return this.#requestInSpan(session, command, requestOptions);
      },
      release,
      [Symbol.dispose]: release,
    };
  }

  #requestInSpan<Data>(session: EppSession, command: EppCommand<Data>, requestOptions: RequestOptions) {
    const ids = { "deedhouse.registry": this.#options.registryId, "deedhouse.cl_trid": requestOptions.clTRID };
    const span = { name: `epp ${command.name}`, kind: "client" as const, attributes: ids };
    return inSpan(span, (own) => this.#request(session, command, requestOptions, own));
  }

  async #request<Data>(
    session: EppSession,
    command: EppCommand<Data>,
    requestOptions: RequestOptions,
    span: OpenSpan | undefined,
  ): Promise<EppResponse<Data>> {
    const askedAtMs = this.#options.clock.monotonicMs();
    const labels = { registry: this.#options.registryId, command: command.name };
    const beganAtMs = performance.now();
    try {
      const response = await session.request(command, requestOptions);
      span?.add({ "deedhouse.epp_code": response.code });
      measure("epp_command_duration_seconds", labels, secondsSince(beganAtMs));
      measure("epp_commands_total", { ...labels, code: String(response.code) });
      this.#signs.recordAnswer();
      if (isAccountThreat(response.code)) this.#circuit.recordRefusal();
      else if (isServerFault(response.code)) this.#circuit.recordFault();
      return response;
    } catch (error) {
      if (error instanceof EppUnanswered) {
        measure("epp_commands_total", { ...labels, code: "unanswered" });
        this.#signs.recordNoAnswer(askedAtMs);
        // The message is broken, not the registry: it comes with each answer until it is acknowledged.
        if (command.name !== "poll:req" || error.reason !== "malformed") this.#circuit.recordFault();
        this.#log.warn({ err: error, command: command.name, clTRID: requestOptions.clTRID }, "command unanswered");
      }
      throw error;
    }
  }

  #takeBack(session: EppSession): void {
    this.#lent.delete(session);
    this.#keep(session);
    if (this.#isDraining && this.#lent.size === 0) this.#allReturned.resolve();
    this.#serve();
  }

  /** Keeps an unused session idle, or closes it. */
  #keep(session: EppSession): void {
    if (session.isUsable && !this.#isDraining && this.#circuit.isClosed) this.#makeIdle(session);
    else this.#close(session);
  }

  #makeIdle(session: EppSession): void {
    session.keepAlive();
    this.#idle.push(session);
  }

  #closeIdle(): void {
    for (const session of this.#idle.splice(0)) this.#close(session);
  }

  #close(session: EppSession): void {
    const closed = session.close().then(() => {
      this.#closing.delete(session);
      this.#serve();
    });
    this.#closing.set(session, closed);
  }

  #openOne(): void {
    this.#open((session) => this.#keep(session))
      .then(
        () => this.#serve(),
        (error) => this.#onOpenFailed(error),
      )
      .catch(reportDefect);
  }

  /** @throws EppUnavailable */
  async #open(take: (session: EppSession) => void): Promise<void> {
    const askedAtMs = this.#options.clock.monotonicMs();
    try {
      await this.#opener.open((session) => {
        this.#signs.recordAnswer();
        session.closed.then(() => this.#onClosed(session)).catch(reportDefect);
        take(session);
      });
    } catch (error) {
      const isAnswer = error instanceof EppUnavailable && error.resultCode !== undefined;
      if (isAnswer) this.#signs.recordAnswer();
      else this.#signs.recordNoAnswer(askedAtMs);
      throw error;
    }
  }

  #onClosed(session: EppSession): void {
    const index = this.#idle.indexOf(session);
    if (index >= 0) this.#idle.splice(index, 1);
    this.#serve();
  }

  /** Waiting callers keep waiting as long as a session may be returned; otherwise they fail with this error. */
  #onOpenFailed(error: Error): void {
    if (this.#isDraining) return;
    this.#log.warn({ err: error }, "no session with the registry");
    this.#recordOpenFailure(error);
    if (this.#sessionCount === 0) this.#waiters.refuseAll(error);
  }

  #recordOpenFailure(error: Error): void {
    if (isSessionLimit(error) && this.#sessionCount > 0) this.#opener.respectLimit(this.#sessionCount);
    if (error instanceof EppUnavailable && isRefusedLogin(error)) this.#circuit.recordRefusal();
    else this.#circuit.recordFault();
  }

  async #probe(): Promise<"succeeded" | "failed" | "refused"> {
    // Lent and closing sessions use up the registry's limit: another login would be refused.
    if (this.#sessionCount >= this.#opener.sessionsMax) {
      this.#probeFailure = new EppUnavailable("session-limit", { detail: "all of ours are still open" });
      return "failed";
    }
    try {
      await this.#open((session) => this.#makeIdle(session));
      if (this.#isDraining) this.#closeIdle();
      return "succeeded";
    } catch (error) {
      this.#log.warn({ err: error }, "the probe failed: the circuit stays open");
      this.#probeFailure = error;
      return error instanceof EppUnavailable && isRefusedLogin(error) ? "refused" : "failed";
    }
  }

  #onCircuit(status: CircuitStatus): void {
    this.#log.warn({ circuit: status }, `the circuit is ${status.state}`);
    if (status.state === "open") {
      this.#waiters.refuseAll(this.#circuitOpen());
      this.#closeIdle();
    }
    if (status.state === "closed") this.#serve();
    this.#options.onCircuit?.(status);
  }
}
