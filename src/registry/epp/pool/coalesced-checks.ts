import type { Random } from "#lib/random.ts";
import type { Secret } from "#lib/secret.ts";
import { isAccountThreat, isSessionEnd, isSuccess } from "#registry/epp/codes.ts";
import type { DomainAvailability } from "#registry/epp/commands/domain/check.ts";
import { domainCheck } from "#registry/epp/commands/domain/check.ts";
import type { FeeQuestion } from "#registry/epp/commands/domain/fee.ts";
import { claimsReason } from "#registry/epp/commands/domain/launch.ts";
import { EppCheckRefused, EppNotSent, EppUnanswered } from "#registry/epp/errors.ts";
import { allocationTokenNamespace, feeNamespace } from "#registry/epp/namespaces.ts";
import { BulkLane } from "#registry/epp/pool/bulk-lane.ts";
import { OrdinaryPrices } from "#registry/epp/pool/ordinary-prices.ts";
import type { CheckOptions, CheckPurpose, EppPool, EppPoolOptions, Lease } from "#registry/epp/pool/pool.ts";
import { createClTRID } from "#registry/epp/session.ts";
import { needsOrdinaryPrice, type PricedAvailability, premiumDecision } from "#registry/premium.ts";

/** A check is repeated when its session ends: a registry that restarts ends all of our sessions. */
const attemptsMax = 3;

interface CheckSettings
  extends Pick<
    EppPoolOptions,
    "clock" | "random" | "premium" | "prices" | "periodYears" | "periodForm" | "commandsPerSecond"
  > {
  /** How long a check waits for a session. */
  readonly waitMs: number;
}

interface Question {
  readonly name: string;
  readonly purpose: CheckPurpose;
  readonly allocationToken?: Secret | undefined;
  /** Callers who still wait for the answer. */
  askersCount: number;
  /** Whether it has a session. */
  isServed: boolean;
}

/** Who has a token asks another question. */
const keyOf = ({ purpose, name, allocationToken: token }: Pick<Question, "purpose" | "name" | "allocationToken">) =>
  `${purpose} ${name} ${token?.reveal() ?? ""}`;

/**
 * Checks names so that concurrent callers with the same name share one command. When a caller's budget runs out, only that
 * caller stops waiting: a command that was sent continues, and its session stays in step. A command that was not sent yet is
 * dropped when it has no callers left: under overload, checks without callers would delay all others.
 */
export class CoalescedChecks {
  readonly #pool: Pick<EppPool, "acquire">;
  readonly #settings: CheckSettings;
  readonly #bulkLane: BulkLane;
  /** By lane, so that no other check waits for a price that the bulk lane has asked for. */
  readonly #ordinaryPrices: Record<CheckPurpose, OrdinaryPrices>;
  readonly #inProgress = new Map<string, Question & { readonly answer: Promise<PricedAvailability> }>();

  constructor(pool: Pick<EppPool, "acquire">, settings: CheckSettings) {
    const { clock, random, prices, commandsPerSecond } = settings;
    this.#pool = pool;
    this.#settings = settings;
    this.#bulkLane = new BulkLane(commandsPerSecond, clock);
    const pricesOfLane = () => new OrdinaryPrices({ clock, random, prices });
    this.#ordinaryPrices = { check: pricesOfLane(), "bulk-check": pricesOfLane() };
  }

  /** @throws as EppPool.checkDomain */
  async check(
    name: string,
    { budgetMs, purpose = "check", allocationToken }: CheckOptions,
  ): Promise<PricedAvailability> {
    // A bulk check may share a quicker one; the reverse would make an order wait for the lane.
    const shared =
      this.#inProgress.get(keyOf({ purpose: "check", name, allocationToken })) ??
      this.#inProgress.get(keyOf({ purpose, name, allocationToken }));
    const question = shared ?? this.#begin(name, purpose, allocationToken);
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

  #begin(name: string, purpose: CheckPurpose, allocationToken: Secret | undefined) {
    const question = { name, purpose, allocationToken, askersCount: 0, isServed: false };
    // Starts after the first caller is counted.
    const answer = Promise.resolve().then(() => this.#askUntilKnown(question));
    const begun = Object.assign(question, { answer });
    this.#inProgress.set(keyOf(question), begun);
    const forget = () => this.#forget(question);
    answer.then(forget, forget);
    return begun;
  }

  #forget(question: Question): void {
    const key = keyOf(question);
    if (this.#inProgress.get(key) === question) this.#inProgress.delete(key);
  }

  /** Repeats the check when its session ends: that says nothing about the name, and a check is safe to repeat. */
  async #askUntilKnown(question: Question): Promise<PricedAvailability> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const isBulk = question.purpose === "bulk-check";
        const isWanted = () => question.askersCount > 0;
        return await (isBulk ? this.#bulkLane.pass(isWanted, () => this.#ask(question)) : this.#ask(question));
      } catch (error) {
        if (attempt === attemptsMax || question.askersCount === 0 || !isSessionLost(error)) throw error;
      }
    }
  }

  async #ask(question: Question): Promise<PricedAvailability> {
    const { name, purpose } = question;
    const { random, waitMs, premium, prices, periodYears = 1, periodForm = "years" } = this.#settings;
    const create = { command: "create" as const, periodYears };
    using lease = await this.#pool.acquire(purpose, { waitMs, isWanted: () => question.askersCount > 0 });
    question.isServed = true;
    const fees = lease.extensionURIs.includes(feeNamespace)
      ? { commands: [create], periodForm, currency: (prices ?? premium)?.currency }
      : undefined;
    const takesTokens = lease.extensionURIs.includes(allocationTokenNamespace);
    const { allocationToken } = question;
    const answer = await checkOn(lease, random, name, fees, takesTokens ? allocationToken : undefined);
    const data = { ...answer, ...(allocationToken && { takesTokens }) };
    if (!data.available) return data;
    if (data.needsClaimsNotice) return { ...data, available: false, reason: claimsReason };
    const askFees = async (other: string) => (await checkOn(lease, random, other, fees)).fees;
    const ordinary = needsOrdinaryPrice(data.fees)
      ? await this.#ordinaryPrices[purpose].find(name, create, askFees)
      : undefined;
    const decision = premiumDecision({ premium, ordinary }, data);
    if (decision === "standard") return data;
    if (decision === "refuse") return { ...data, available: false, reason: "Premium" };
    return { ...data, agreedFee: { amount: decision.amount, currency: decision.currency } };
  }
}

/**
 * Checks a name on a session that the caller holds.
 * @throws EppNotSent, EppUnanswered, EppCheckRefused
 */
export async function checkOn(
  lease: Lease,
  random: Random,
  name: string,
  fees: FeeQuestion | undefined,
  token?: Secret,
): Promise<DomainAvailability> {
  const { code, message, data } = await lease.request(domainCheck(name, fees, token), { clTRID: createClTRID(random) });
  if (!isSuccess(code) || !data) throw new EppCheckRefused(code, message);
  return data;
}

/** Whether the session ended without an answer. A late or malformed answer would come again. */
function isSessionLost(error: unknown): boolean {
  if (error instanceof EppCheckRefused) return isSessionEnd(error.resultCode) && !isAccountThreat(error.resultCode);
  return error instanceof EppNotSent || (error instanceof EppUnanswered && error.reason === "closed");
}
