/**
 * Opens the sessions of one registry, and counts those that are opening. Failed logins back off, however many callers wait: each
 * failure doubles the pause, with jitter, because registries lock accounts and refuse clients that connect too often.
 */
import { setMaxListeners } from "node:events";
import { backoffMs } from "#lib/backoff.ts";
import type { Log } from "#lib/log.ts";
import { measure } from "#lib/measure/measure.ts";
import { EppUnavailable } from "#registry/epp/errors.ts";
import type { EppPoolOptions } from "#registry/epp/pool/pool.ts";
import type { EppSession } from "#registry/epp/session.ts";
import { openSession } from "#registry/epp/session.ts";
import type { EppTimeouts } from "#registry/epp/timeouts.ts";
import { loadFrameValidator } from "#registry/epp/xml/schema.ts";

/** After the registry refused a session at fewer than our settings allow (2502), its limit is respected for this long. */
const sessionLimitHoldMs = 60_000;

export interface SessionOpenerOptions {
  readonly pool: EppPoolOptions;
  readonly timeouts: EppTimeouts;
  readonly log: Log;
  /** Called when logins may be tried again. */
  readonly onPauseOver: () => void;
}

export class SessionOpener {
  readonly #options: SessionOpenerOptions;
  readonly #inProgress = new Set<Promise<unknown>>();
  readonly #abandon = new AbortController();
  #sessionLimit: { readonly sessionsMax: number; readonly untilMs: number } | undefined;
  /** Failures since the last successful login. */
  #failures = 0;
  #pause: NodeJS.Timeout | undefined;
  /** Why there is a pause. */
  #lastFailure: unknown;

  constructor(options: SessionOpenerOptions) {
    this.#options = options;
    setMaxListeners(options.pool.sessionsMax + 1, this.#abandon.signal);
  }

  /** The number of sessions that are opening. */
  get count(): number {
    return this.#inProgress.size;
  }

  /** The registry's limit, as far as we know. */
  get sessionsMax(): number {
    const limit = this.#sessionLimit;
    const { clock, sessionsMax } = this.#options.pool;
    return limit && clock.monotonicMs() < limit.untilMs ? limit.sessionsMax : sessionsMax;
  }

  /** Why no login may be tried now; undefined when one may. */
  get pauseCause(): unknown {
    return this.#pause && this.#lastFailure;
  }

  /** Call it when the registry refused a session beyond this many. */
  respectLimit(sessionsMax: number): void {
    this.#sessionLimit = { sessionsMax, untilMs: this.#options.pool.clock.monotonicMs() + sessionLimitHoldMs };
  }

  /**
   * Opens a session, even during a pause.
   * @param take gets it in the same turn in which it stops counting as opening, so that it is always counted once
   * @throws EppUnavailable
   */
  async open(take: (session: EppSession) => void): Promise<void> {
    const opening = this.#openSession();
    this.#inProgress.add(opening);
    try {
      const session = await opening;
      this.#inProgress.delete(opening);
      this.#endPause();
      take(session);
    } catch (error) {
      this.#inProgress.delete(opening);
      this.#pauseAfter(error);
      throw error;
    }
  }

  /** Resolves when no session is opening. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#inProgress);
  }

  /** Aborts the sessions that are opening. */
  abandon(): void {
    this.#abandon.abort();
    clearTimeout(this.#pause);
  }

  #pauseAfter(error: unknown): void {
    if (this.#abandon.signal.aborted) return;
    const { pool, timeouts, onPauseOver } = this.#options;
    this.#failures += 1;
    this.#lastFailure = error;
    clearTimeout(this.#pause);
    const settings = { firstMs: timeouts.loginPauseFirstMs, maxMs: timeouts.loginPauseMsMax };
    this.#pause = setTimeout(
      () => {
        this.#pause = undefined;
        onPauseOver();
      },
      backoffMs(this.#failures, settings, pool.random),
    );
  }

  #endPause(): void {
    this.#failures = 0;
    clearTimeout(this.#pause);
    this.#pause = undefined;
  }

  async #openSession(): Promise<EppSession> {
    const { pool, timeouts } = this.#options;
    const { host, port, tls, registrarId, password, services, dialect, clock, random, mayWrite } = pool;
    const { registryId, onLogin } = pool;
    return openSession({
      host,
      port,
      tls,
      services,
      dialect,
      clock,
      random,
      timeouts,
      onLogin: (report, code, seconds) => {
        const labels = { registry: registryId, command: "login" };
        measure("epp_command_duration_seconds", labels, seconds);
        measure("epp_commands_total", { ...labels, code: String(code) });
        onLogin?.(report);
      },
      mayWrite,
      credentials: { registrarId, password },
      validate: await loadFrameValidator(),
      trace: pool.onFrame && ((direction, xml) => this.#trace(direction, xml)),
      signal: this.#abandon.signal,
    });
  }

  /** An error in `onFrame` must not discard an answer. */
  #trace(direction: "sent" | "received", xml: string): void {
    try {
      this.#options.pool.onFrame?.(direction, xml);
    } catch (error) {
      this.#options.log.error({ err: error }, "onFrame failed");
    }
  }
}

/** Whether the registry refused a session because we have too many. */
export function isSessionLimit(error: unknown): boolean {
  return error instanceof EppUnavailable && error.reason === "session-limit";
}
