import { sleep } from "#lib/clock.ts";
import type { Random } from "#lib/random.ts";
import { isSuccess } from "./codes.ts";
import type { DomainAvailability } from "./commands/domain-check.ts";
import { domainCheck } from "./commands/domain-check.ts";
import { EppCheckRefused, EppUnanswered } from "./errors.ts";
import type { EppPool } from "./pool.ts";
import { createClTRID } from "./session.ts";

/**
 * Checks names so that callers who ask for one name at the same time share one command. A caller's budget ends its own
 * waiting only: the command goes on for the others, and its session stays in step.
 */
export class CoalescedChecks {
  readonly #pool: Pick<EppPool, "acquire">;
  readonly #random: Random;
  readonly #waitMs: number;
  readonly #underWay = new Map<string, Promise<DomainAvailability>>();

  /** @param waitMs how long a check waits for a session */
  constructor(pool: Pick<EppPool, "acquire">, random: Random, waitMs: number) {
    this.#pool = pool;
    this.#random = random;
    this.#waitMs = waitMs;
  }

  /** @throws as EppPool.checkDomain */
  async check(name: string, budgetMs: number): Promise<DomainAvailability> {
    let answer = this.#underWay.get(name);
    if (!answer) {
      answer = this.#ask(name).finally(() => this.#underWay.delete(name));
      this.#underWay.set(name, answer);
    }
    const answered = new AbortController();
    const outOfBudget = sleep(budgetMs, answered.signal).then(() => {
      throw new EppUnanswered("timeout");
    });
    try {
      return await Promise.race([answer, outOfBudget]);
    } finally {
      answered.abort();
    }
  }

  async #ask(name: string): Promise<DomainAvailability> {
    using lease = await this.#pool.acquire("check", { waitMs: this.#waitMs });
    const { code, message, data } = await lease.request(domainCheck(name), { clTRID: createClTRID(this.#random) });
    if (!isSuccess(code) || !data) throw new EppCheckRefused(code, message);
    return data;
  }
}
