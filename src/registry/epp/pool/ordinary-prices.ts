/**
 * What an ordinary registration costs under a suffix: as the profile says, or else what the registry asks for a random label,
 * which is asked at most once a day.
 */
import type { Clock } from "#lib/clock.ts";
import type { Random } from "#lib/random.ts";
import type { DomainFees } from "#registry/epp/commands/domain/fee.ts";
import { findCreatePrice, type OrdinaryPrice } from "#registry/premium.ts";

const askedAgainMs = 24 * 60 * 60_000;
/** Long enough that nobody wants the name, and that no rule about short names applies. */
const randomLabelChars = 20;
const letters = "abcdefghijklmnopqrstuvwxyz";

/** The profile's ordinary prices of a year, in one currency. */
export interface YearPrices {
  readonly create: number;
  /** ISO 4217. */
  readonly currency: string;
}

interface Options {
  readonly clock: Clock;
  readonly random: Random;
  readonly periodYears: number;
  readonly prices: YearPrices | undefined;
}

export class OrdinaryPrices {
  readonly #options: Options;
  readonly #bySuffix = new Map<string, { askedMs: number; price: Promise<OrdinaryPrice | undefined> }>();

  constructor(options: Options) {
    this.#options = options;
  }

  /**
   * The price of an ordinary name under the same suffix; undefined when the registry gives none.
   * @param askFees asks the registry for the fees of a name; what it throws is thrown on, and the next caller asks again
   */
  async find(
    name: string,
    askFees: (name: string) => Promise<DomainFees | undefined>,
  ): Promise<OrdinaryPrice | undefined> {
    const { clock, prices, periodYears } = this.#options;
    if (prices) return { amount: prices.create * periodYears, currency: prices.currency };
    const suffix = name.slice(name.indexOf(".") + 1);
    const known = this.#bySuffix.get(suffix);
    const nowMs = clock.now().getTime();
    if (known && nowMs - known.askedMs < askedAgainMs) return known.price;
    const asked = { askedMs: nowMs, price: askFees(`${this.#randomLabel()}.${suffix}`).then(priceOf) };
    this.#bySuffix.set(suffix, asked);
    try {
      return await asked.price;
    } catch (error) {
      if (this.#bySuffix.get(suffix) === asked) this.#bySuffix.delete(suffix);
      throw error;
    }
  }

  #randomLabel(): string {
    const { random } = this.#options;
    return Array.from({ length: randomLabelChars }, () => letters[random.below(letters.length)]).join("");
  }
}

function priceOf(fees: DomainFees | undefined): OrdinaryPrice | undefined {
  const amount = findCreatePrice(fees)?.amount;
  return fees && amount !== undefined ? { amount: Number(amount), currency: fees.currency } : undefined;
}
