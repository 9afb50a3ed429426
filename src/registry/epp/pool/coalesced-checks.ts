import type { Random } from "#lib/random.ts";
import { isAccountThreat, isSessionEnd, isSuccess } from "#registry/epp/codes.ts";
import type { DomainAvailability } from "#registry/epp/commands/domain/check.ts";
import { domainCheck } from "#registry/epp/commands/domain/check.ts";
import { EppCheckRefused, EppNotSent, EppUnanswered } from "#registry/epp/errors.ts";
import { feeNamespace } from "#registry/epp/namespaces.ts";
import type { EppPool, EppPoolOptions } from "#registry/epp/pool/pool.ts";
import { createClTRID } from "#registry/epp/session.ts";
import { premiumDecision } from "#registry/premium.ts";

/** A check is repeated when its session ends: a registry that restarts ends all of our sessions. */
const attemptsMax = 3;

interface CheckOptions extends Pick<EppPoolOptions, "premium" | "periodYears"> {
  /** How long a check waits for a session. */
  readonly waitMs: number;
}

interface Question {
  readonly name: string;
  /** Callers who still wait for the answer. */
  askersCount: number;
  /** Whether it has a session. */
  isServed: boolean;
}

/**
 * Checks names so that concurrent callers with the same name share one command. A caller's budget ends only its own wait: a
 * command that was sent continues, and its session stays in step. A command that was not sent yet is dropped when it has no
 * callers left: under overload, checks that nobody waits for would delay all others.
 */
export class CoalescedChecks {
  readonly #pool: Pick<EppPool, "acquire">;
  readonly #random: Random;
  readonly #options: CheckOptions;
  readonly #inProgress = new Map<string, Question & { readonly answer: Promise<DomainAvailability> }>();

  constructor(pool: Pick<EppPool, "acquire">, random: Random, options: CheckOptions) {
    this.#pool = pool;
    this.#random = random;
    this.#options = options;
  }

  /** @throws as EppPool.checkDomain */
  async check(name: string, budgetMs: number): Promise<DomainAvailability> {
    const question = this.#inProgress.get(name) ?? this.#begin(name);
    question.askersCount += 1;
    const outOfBudget = Promise.withResolvers<never>();
    const timer = setTimeout(() => outOfBudget.reject(new EppUnanswered("timeout")), budgetMs);
    try {
      return await Promise.race([question.answer, outOfBudget.promise]);
    } finally {
      clearTimeout(timer);
      question.askersCount -= 1;
      // This one will be dropped; a later caller needs a new one.
      if (question.askersCount === 0 && !question.isServed) this.#forget(question);
    }
  }

  #begin(name: string) {
    const question = { name, askersCount: 0, isServed: false };
    // Starts after the first caller is counted.
    const answer = Promise.resolve().then(() => this.#askUntilKnown(question));
    const begun = Object.assign(question, { answer });
    this.#inProgress.set(name, begun);
    const forget = () => this.#forget(question);
    answer.then(forget, forget);
    return begun;
  }

  #forget(question: Question): void {
    if (this.#inProgress.get(question.name) === question) this.#inProgress.delete(question.name);
  }

  /** Repeats the check when its session ends: that says nothing about the name, and a check is safe to repeat. */
  async #askUntilKnown(question: Question): Promise<DomainAvailability> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.#ask(question);
      } catch (error) {
        if (attempt === attemptsMax || question.askersCount === 0 || !isSessionLost(error)) throw error;
      }
    }
  }

  async #ask(question: Question): Promise<DomainAvailability> {
    const { name } = question;
    const { waitMs, premium, periodYears = 1 } = this.#options;
    using lease = await this.#pool.acquire("check", { waitMs, isWanted: () => question.askersCount > 0 });
    question.isServed = true;
    const fees = lease.extensionURIs.includes(feeNamespace)
      ? { commands: [{ command: "create" as const, periodYears }], currency: premium?.currency }
      : undefined;
    const command = domainCheck(name, fees);
    const { code, message, data } = await lease.request(command, { clTRID: createClTRID(this.#random) });
    if (!isSuccess(code) || !data) throw new EppCheckRefused(code, message);
    if (!data.available || premiumDecision({ premium }, data) !== "refuse") return data;
    return { ...data, available: false, reason: "Premium" };
  }
}

/** Whether the session ended without an answer. A late or malformed answer would come again. */
function isSessionLost(error: unknown): boolean {
  if (error instanceof EppCheckRefused) return isSessionEnd(error.resultCode) && !isAccountThreat(error.resultCode);
  return error instanceof EppNotSent || (error instanceof EppUnanswered && error.reason === "closed");
}
