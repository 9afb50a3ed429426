/** Queues this node's reports: answers, and the usage of its accounts. Sends them at once, and retries until they arrive. */
import { backoffMs } from "#lib/backoff.ts";
import { type Clock, sleep } from "#lib/clock.ts";
import type { Log } from "#lib/log.ts";
import type { Random } from "#lib/random.ts";
import { type GatewayChannel, GatewayRefused } from "#nodes/agent/gateway-channel.ts";
import { type AnswerPart, type UsageReport, usageInReportMax } from "#nodes/agent/messages.ts";

/** Fits in the largest request, together with the usage. */
const answerPartsInReportMax = 2;
/** By then the gateway no longer waits for the answer. */
const answerKeptMs = 60_000;
const uselessStatuses: ReadonlySet<number> = new Set([400, 413]);
const backoff = { firstMs: 250, maxMs: 10_000 };

export interface OutboxOptions {
  channel: GatewayChannel;
  clock: Clock;
  random: Random;
  log: Log;
}

export class Outbox {
  readonly #options: OutboxOptions;
  #answers: { part: AnswerPart; untilMs: number }[] = [];
  /** By uid: only the newest report of an account matters. */
  readonly #usage = new Map<number, UsageReport>();
  #news = Promise.withResolvers<void>();

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  addAnswer(parts: AnswerPart[]): void {
    const untilMs = this.#options.clock.monotonicMs() + answerKeptMs;
    for (const part of parts) this.#answers.push({ part, untilMs });
    this.#news.resolve();
  }

  addUsage(reports: readonly UsageReport[]): void {
    for (const report of reports) this.#usage.set(report.uid, report);
    this.#news.resolve();
  }

  /** Sends until the signal fires. */
  async run(signal: AbortSignal): Promise<void> {
    const { channel, random, log } = this.#options;
    const stopped = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    for (let failures = 0; !signal.aborted; ) {
      if (this.#answers.length === 0 && this.#usage.size === 0) {
        await Promise.race([this.#news.promise, stopped]);
        this.#news = Promise.withResolvers<void>();
        continue;
      }
      const answers = this.#takeAnswers();
      const usage = [...this.#usage.values()].slice(0, usageInReportMax);
      try {
        await channel.report({ answers: answers.map(({ part }) => part), usage }, signal);
        this.#forget(usage);
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        failures += 1;
        log.warn({ err: error }, "a report did not reach the gateway");
        // A report that the gateway does not understand would block all later ones. Its usage is given up first: the gateway
        // waits for the answers, which are sent once more without it.
        const isUseless = error instanceof GatewayRefused && uselessStatuses.has(error.status);
        if (isUseless) this.#forget(usage);
        if (!isUseless || usage.length > 0) this.#answers.unshift(...answers);
        await sleep(backoffMs(failures, backoff, random), signal);
      }
    }
  }

  /** Keeps reports that were replaced meanwhile: they are sent next. */
  #forget(usage: UsageReport[]): void {
    for (const report of usage) if (this.#usage.get(report.uid) === report) this.#usage.delete(report.uid);
  }

  #takeAnswers() {
    const nowMs = this.#options.clock.monotonicMs();
    const waiting = this.#answers.filter(({ untilMs }) => untilMs > nowMs);
    this.#answers = waiting.slice(answerPartsInReportMax);
    return waiting.slice(0, answerPartsInReportMax);
  }
}
