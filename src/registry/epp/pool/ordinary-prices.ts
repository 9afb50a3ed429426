/**
 * What a command costs for an ordinary name under a suffix: as the profile says, or else what the registry asks for a random label,
 * which is asked at most once a day.
 */
import type { Clock } from "#lib/clock.ts";
import type { Random } from "#lib/random.ts";
import type { DomainFees } from "#registry/epp/commands/domain/fee.ts";
import { findPrice, type OrdinaryPrice, type PaidCommand } from "#registry/premium.ts";

const askedAgainMs = 24 * 60 * 60_000;
/** Long enough that nobody wants the name, and that no rule about short names applies. */
const randomLabelChars = 20;
const letters = "abcdefghijklmnopqrstuvwxyz";

/** The profile's ordinary prices, in one currency: of a year, and of a restore. The registry is asked for those that are absent. */
export interface ProfilePrices {
  readonly create?: number | undefined;
  readonly renew?: number | undefined;
  readonly restore?: number | undefined;
  /** ISO 4217. */
  readonly currency: string;
}

interface Options {
  readonly clock: Clock;
  readonly random: Random;
  readonly prices: ProfilePrices | undefined;
}

export class OrdinaryPrices {
  readonly #options: Options;
  readonly #asked = new Map<string, { askedMs: number; price: Promise<OrdinaryPrice | undefined> }>();

  constructor(options: Options) {
    this.#options = options;
  }

  /**
   * The price of a command for an ordinary name under the same suffix; undefined when the registry gives none.
   * @param askFees asks the registry for the fees of a name; what it throws is thrown on, and the next caller asks again
   */
  async find(
    name: string,
    { command, periodYears }: PaidCommand,
    askFees: (name: string) => Promise<DomainFees | undefined>,
  ): Promise<OrdinaryPrice | undefined> {
    const { clock, prices } = this.#options;
    const ofProfile = prices?.[command];
    if (prices && ofProfile !== undefined) {
      return { amount: ofProfile * (periodYears ?? 1), currency: prices.currency };
    }
    const suffix = name.slice(name.indexOf(".") + 1);
    const key = [command, periodYears, suffix].join(" ");
    const known = this.#asked.get(key);
    const nowMs = clock.now().getTime();
    if (known && nowMs - known.askedMs < askedAgainMs) return known.price;
    const price = askFees(`${this.#randomLabel()}.${suffix}`).then((fees) => priceOf(fees, command));
    const asked = { askedMs: nowMs, price };
    this.#asked.set(key, asked);
    try {
      return await price;
    } catch (error) {
      if (this.#asked.get(key) === asked) this.#asked.delete(key);
      throw error;
    }
  }

  #randomLabel(): string {
    const { random } = this.#options;
    return Array.from({ length: randomLabelChars }, () => letters[random.below(letters.length)]).join("");
  }
}

function priceOf(fees: DomainFees | undefined, command: PaidCommand["command"]): OrdinaryPrice | undefined {
  const amount = findPrice(fees, command)?.amount;
  return fees && amount !== undefined ? { amount: Number(amount), currency: fees.currency } : undefined;
}
