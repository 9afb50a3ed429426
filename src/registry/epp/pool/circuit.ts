/**
 * A circuit breaker: stops sending commands to a failing registry, and detects when it has recovered. An open circuit probes with
 * a login, with a growing delay, so that no caller pays for the attempt and the circuit closes without a request.
 */
import { backoffMs } from "#lib/backoff.ts";
import type { Clock } from "#lib/clock.ts";
import type { Random } from "#lib/random.ts";

export interface CircuitSettings {
  /** This many faults … */
  readonly faultsMax: number;
  /** … within this time open the circuit. */
  readonly faultWindowMs: number;
  readonly probeDelayMsMin: number;
  readonly probeDelayMsMax: number;
  /** The first delay after the registry refused our credentials: each attempt counts towards a locked account. */
  readonly refusedDelayMs: number;
}

export const circuitSettingsDefault: CircuitSettings = {
  faultsMax: 5,
  faultWindowMs: 30_000,
  probeDelayMsMin: 5_000,
  probeDelayMsMax: 600_000,
  refusedDelayMs: 60_000,
};

export interface CircuitStatus {
  readonly state: "closed" | "open" | "half-open";
  /** Until the next probe; 0 unless open. */
  readonly retryAfterMs: number;
}

export interface CircuitOptions {
  readonly settings: CircuitSettings;
  readonly clock: Clock;
  readonly random: Random;
  /** Logs in. Must not reject. */
  readonly probe: () => Promise<"succeeded" | "failed" | "refused">;
  readonly onChange: (status: CircuitStatus) => void;
}

export class Circuit {
  readonly #options: CircuitOptions;
  #state: CircuitStatus["state"] = "closed";
  #faultTimesMs: number[] = [];
  /** Failures since the circuit was closed: the opening and failed probes. */
  #failures = 0;
  #probeAtMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #probing: Promise<void> | undefined;
  #isStopped = false;

  constructor(options: CircuitOptions) {
    this.#options = options;
  }

  get isClosed(): boolean {
    return this.#state === "closed";
  }

  status(): CircuitStatus {
    const leftMs = this.#probeAtMs - this.#options.clock.monotonicMs();
    return { state: this.#state, retryAfterMs: this.#state === "open" ? Math.max(0, Math.ceil(leftMs)) : 0 };
  }

  /** Counts a fault; enough of them open the circuit. */
  recordFault(): void {
    const { settings, clock } = this.#options;
    if (!this.isClosed) return;
    const nowMs = clock.monotonicMs();
    this.#faultTimesMs = this.#faultTimesMs.filter((timeMs) => nowMs - timeMs < settings.faultWindowMs);
    this.#faultTimesMs.push(nowMs);
    if (this.#faultTimesMs.length >= settings.faultsMax) this.#open(settings.probeDelayMsMin);
  }

  /** Opens at once: the registry refused our login. */
  recordRefusal(): void {
    if (this.isClosed) this.#open(this.#options.settings.refusedDelayMs);
  }

  /** Probes at once, or waits for the probe in progress. Does nothing while the circuit is closed. */
  async probeNow(): Promise<void> {
    if (this.#state === "open" && !this.#isStopped) {
      clearTimeout(this.#timer);
      this.#startProbe();
    }
    await this.#probing;
  }

  /** Ends all probes and state changes. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  #open(firstMs: number): void {
    if (this.#isStopped) return;
    const { settings, clock, random } = this.#options;
    this.#failures += 1;
    const delayMs = backoffMs(this.#failures, { firstMs, maxMs: settings.probeDelayMsMax }, random);
    this.#probeAtMs = clock.monotonicMs() + delayMs;
    this.#timer = setTimeout(() => this.#startProbe(), delayMs);
    this.#change("open");
  }

  #startProbe(): void {
    this.#probing = this.#probe();
  }

  async #probe(): Promise<void> {
    this.#change("half-open");
    const outcome = await this.#options.probe();
    if (this.#isStopped) return;
    if (outcome === "succeeded") {
      this.#faultTimesMs = [];
      this.#failures = 0;
      return this.#change("closed");
    }
    const { refusedDelayMs, probeDelayMsMin } = this.#options.settings;
    this.#open(outcome === "refused" ? refusedDelayMs : probeDelayMsMin);
  }

  #change(state: CircuitStatus["state"]): void {
    this.#state = state;
    this.#options.onChange(this.status());
  }
}
