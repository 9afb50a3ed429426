import type { Random } from "#lib/random.ts";
import { premiumDecision } from "#registry/premium.ts";
import { isSuccess } from "./codes.ts";
import type { DomainAvailability } from "./commands/domain-check.ts";
import { domainCheck } from "./commands/domain-check.ts";
import { EppCheckRefused, EppUnanswered } from "./errors.ts";
import { feeNamespace } from "./namespaces.ts";
import type { EppPool, EppPoolOptions } from "./pool.ts";
import { createClTRID } from "./session.ts";

interface CheckOptions extends Pick<EppPoolOptions, "premium" | "periodYears"> {
  /** How long a check waits for a session. */
  readonly waitMs: number;
}

/**
 * Checks names so that callers who ask for one name at the same time share one command. A caller's budget ends its own
 * waiting only: the command goes on for the others, and its session stays in step.
 */
export class CoalescedChecks {
  readonly #pool: Pick<EppPool, "acquire">;
  readonly #random: Random;
  readonly #options: CheckOptions;
  readonly #underWay = new Map<string, Promise<DomainAvailability>>();

  constructor(pool: Pick<EppPool, "acquire">, random: Random, options: CheckOptions) {
    this.#pool = pool;
    this.#random = random;
    this.#options = options;
  }

  /** @throws as EppPool.checkDomain */
  async check(name: string, budgetMs: number): Promise<DomainAvailability> {
    let answer = this.#underWay.get(name);
    if (!answer) {
      answer = this.#ask(name).finally(() => this.#underWay.delete(name));
      this.#underWay.set(name, answer);
    }
    const outOfBudget = Promise.withResolvers<never>();
    const timer = setTimeout(() => outOfBudget.reject(new EppUnanswered("timeout")), budgetMs);
    try {
      return await Promise.race([answer, outOfBudget.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  async #ask(name: string): Promise<DomainAvailability> {
    const { waitMs, premium, periodYears = 1 } = this.#options;
    using lease = await this.#pool.acquire("check", { waitMs });
    const question = lease.extensionURIs.includes(feeNamespace)
      ? { commands: [{ command: "create" as const, periodYears }], currency: premium?.currency }
      : undefined;
    const command = domainCheck(name, question);
    const { code, message, data } = await lease.request(command, { clTRID: createClTRID(this.#random) });
    if (!isSuccess(code) || !data) throw new EppCheckRefused(code, message);
    if (!data.available || premiumDecision({ premium }, data) !== "refuse") return data;
    return { ...data, available: false, reason: "Premium" };
  }
}
