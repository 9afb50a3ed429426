/**
 * The sessions with one registry. Sessions open when somebody waits for one, are lent to one caller at a time, and are
 * given to those who wait longest. One session is kept from slow work, so that an interactive check never waits for a
 * create.
 */
import { setMaxListeners } from "node:events";
import { sleep } from "#lib/clock.ts";
import type { Log } from "#lib/log.ts";
import type { CircuitStatus } from "./circuit.ts";
import { Circuit, circuitSettingsDefault } from "./circuit.ts";
import { CoalescedChecks } from "./coalesced-checks.ts";
import { isServerFault } from "./codes.ts";
import type { EppCommand } from "./command.ts";
import type { DomainAvailability } from "./commands/domain-check.ts";
import { EppNotSent, EppUnanswered, EppUnavailable } from "./errors.ts";
import type { EppPool, EppPoolOptions, Lane, Lease } from "./pool.ts";
import { loadFrameValidator } from "./schema.ts";
import type { EppResponse, EppSession, RequestOptions } from "./session.ts";
import { isRefusedLogin, openSession } from "./session.ts";
import type { EppTimeouts } from "./timeouts.ts";
import { eppTimeoutsDefault } from "./timeouts.ts";
import { TokenBucket } from "./token-bucket.ts";
import type { Waiter } from "./waiting-line.ts";
import { WaitingLine } from "./waiting-line.ts";

/** After the registry counted our sessions lower than our settings do (2502), its count is believed for this long. */
const sessionLimitHoldMs = 60_000;

export class SessionPool implements EppPool {
  readonly #options: EppPoolOptions;
  readonly #log: Log;
  readonly #timeouts: EppTimeouts;
  readonly #circuit: Circuit;
  readonly #bucket: TokenBucket;
  readonly #checks: CoalescedChecks;
  readonly #idle: EppSession[] = [];
  readonly #lent = new Map<EppSession, Lane>();
  readonly #opening = new Set<Promise<unknown>>();
  readonly #closing = new Map<EppSession, Promise<void>>();
  readonly #waiters = new WaitingLine();
  readonly #abandon = new AbortController();
  #sessionLimit: { readonly sessionsMax: number; readonly untilMs: number } | undefined;
  #isDraining = false;
  readonly #allReturned = Promise.withResolvers<void>();

  constructor(options: EppPoolOptions) {
    this.#options = options;
    this.#log = options.log.child({ registry: options.registryId });
    this.#timeouts = { ...eppTimeoutsDefault, ...options.timeouts };
    this.#bucket = new TokenBucket(options.commandsPerSecond, options.clock);
    this.#checks = new CoalescedChecks(this, options.random, { ...options, waitMs: this.#timeouts.queryMs });
    this.#circuit = new Circuit({
      settings: { ...circuitSettingsDefault, ...options.circuit },
      clock: options.clock,
      random: options.random,
      probe: () => this.#probe(),
      onChange: (status) => this.#onCircuit(status),
    });
    setMaxListeners(options.sessionsMax + 1, this.#abandon.signal);
  }

  async acquire(lane: Lane, { waitMs }: { readonly waitMs: number }): Promise<Lease> {
    if (this.#isDraining) throw new EppUnavailable("draining");
    if (!this.#circuit.isClosed) throw this.#circuitOpen();
    const lease = this.#waiters.join(lane, waitMs);
    this.#serve();
    return lease;
  }

  #circuitOpen(): EppUnavailable {
    return new EppUnavailable("circuit-open", { retryAfterMs: this.#circuit.status().retryAfterMs });
  }

  checkDomain(name: string, { budgetMs }: { readonly budgetMs: number }): Promise<DomainAvailability> {
    return this.#checks.check(name, budgetMs);
  }

  circuit(): CircuitStatus {
    return this.#circuit.status();
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
    this.#abandon.abort();
    for (const session of [...this.#lent.keys(), ...this.#closing.keys()]) session.destroy("the pool is drained");
  }

  async #settled(): Promise<void> {
    await this.#allReturned.promise;
    await Promise.allSettled(this.#opening);
    await Promise.all(this.#closing.values());
  }

  /** Lends what is idle to those who wait longest, and opens sessions for the rest as far as the registry allows. */
  #serve(): void {
    let slowFree = Math.max(1, this.#sessionsMax - 1) - this.#slowCount;
    let wanted = 0;
    for (const waiter of this.#waiters) {
      if (waiter.lane !== "check" && slowFree-- <= 0) continue;
      const session = this.#takeIdle();
      if (session) this.#lend(session, waiter);
      else wanted += 1;
    }
    while (this.#opening.size < wanted && this.#sessionCount < this.#sessionsMax) this.#openForWaiters();
  }

  get #slowCount(): number {
    return [...this.#lent.values()].filter((lane) => lane !== "check").length;
  }

  get #sessionCount(): number {
    return this.#idle.length + this.#lent.size + this.#opening.size + this.#closing.size;
  }

  get #sessionsMax(): number {
    const limit = this.#sessionLimit;
    const isHeld = limit && this.#options.clock.monotonicMs() < limit.untilMs;
    return isHeld ? limit.sessionsMax : this.#options.sessionsMax;
  }

  #takeIdle(): EppSession | undefined {
    for (let session = this.#idle.pop(); session; session = this.#idle.pop()) {
      if (session.isUsable) return session;
      this.#close(session);
    }
    return undefined;
  }

  #lend(session: EppSession, waiter: Waiter): void {
    this.#lent.set(session, waiter.lane);
    this.#waiters.serve(waiter, this.#leaseOf(session));
  }

  #leaseOf(session: EppSession): Lease {
    let isReleased = false;
    const release = () => {
      if (isReleased) return;
      isReleased = true;
      this.#takeBack(session);
    };
    return {
      extensionURIs: session.services.extensionURIs,
      request: async (command, requestOptions) => {
        await this.#bucket.take();
        if (isReleased) throw new EppNotSent("the lease was released");
        return this.#request(session, command, requestOptions);
      },
      release,
      [Symbol.dispose]: release,
    };
  }

  async #request<Data>(
    session: EppSession,
    command: EppCommand<Data>,
    requestOptions: RequestOptions,
  ): Promise<EppResponse<Data>> {
    try {
      const response = await session.request(command, requestOptions);
      if (isServerFault(response.code)) this.#circuit.recordFault();
      return response;
    } catch (error) {
      if (error instanceof EppUnanswered) {
        this.#circuit.recordFault();
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

  /** Keeps a session that nobody uses, or says goodbye to it. */
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

  #openForWaiters(): void {
    const opening = this.#open().then(
      (session) => {
        this.#opening.delete(opening);
        this.#keep(session);
        this.#serve();
      },
      (error) => {
        this.#opening.delete(opening);
        this.#onOpenFailed(error);
      },
    );
    this.#opening.add(opening);
  }

  /** @throws EppUnavailable */
  async #open(): Promise<EppSession> {
    const { host, port, tls, registrarId, password, services, clock, random } = this.#options;
    const session = await openSession({
      ...{ host, port, tls, services, clock, random },
      credentials: { registrarId, password },
      timeouts: this.#timeouts,
      validate: await loadFrameValidator(),
      trace: (direction, xml) => this.#trace(direction, xml),
      signal: this.#abandon.signal,
    });
    session.closed.then(() => this.#onClosed(session));
    return session;
  }

  #onClosed(session: EppSession): void {
    const index = this.#idle.indexOf(session);
    if (index >= 0) this.#idle.splice(index, 1);
    this.#serve();
  }

  /** Those who wait go on waiting while any session may still come back; else they learn why there is none. */
  #onOpenFailed(error: Error): void {
    if (this.#isDraining) return;
    this.#log.warn({ err: error }, "no session with the registry");
    this.#recordOpenFailure(error);
    if (this.#sessionCount === 0) this.#waiters.refuseAll(error);
  }

  #recordOpenFailure(error: Error): void {
    if (error instanceof EppUnavailable && error.reason === "session-limit" && this.#sessionCount > 0) {
      const untilMs = this.#options.clock.monotonicMs() + sessionLimitHoldMs;
      this.#sessionLimit = { sessionsMax: this.#sessionCount, untilMs };
    }
    if (error instanceof EppUnavailable && isRefusedLogin(error)) this.#circuit.recordRefusal();
    else this.#circuit.recordFault();
  }

  async #probe(): Promise<"well" | "failed" | "refused"> {
    // Sessions that are still lent or saying goodbye fill the registry's limit: one more login would be refused.
    if (this.#sessionCount >= this.#sessionsMax) return "failed";
    const opening = this.#open();
    this.#opening.add(opening);
    try {
      const session = await opening;
      this.#makeIdle(session);
      if (this.#isDraining) this.#closeIdle();
      return "well";
    } catch (error) {
      this.#log.warn({ err: error }, "the registry is still in trouble");
      return error instanceof EppUnavailable && isRefusedLogin(error) ? "refused" : "failed";
    } finally {
      this.#opening.delete(opening);
    }
  }

  #onCircuit(status: CircuitStatus): void {
    this.#log.warn({ circuit: status }, `the circuit is ${status.state}`);
    if (status.state === "open") {
      this.#waiters.refuseAll(this.#circuitOpen());
      this.#closeIdle();
    }
    this.#options.onCircuit?.(status);
  }

  /** A failing onlooker must not cost an answer. */
  #trace(direction: "sent" | "received", xml: string): void {
    try {
      this.#options.onFrame?.(direction, xml);
    } catch (error) {
      this.#log.error({ err: error }, "onFrame failed");
    }
  }
}
