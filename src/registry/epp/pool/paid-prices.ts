/**
 * What commands about registered names cost. Because a price may change, the registry is asked just before such a command is
 * sent, by a separate check (RFC 8748 §5.1.1). For a registered name, its answer says what a renewal or a restore costs.
 */
import { EppCheckRefused } from "#registry/epp/errors.ts";
import { feeNamespace } from "#registry/epp/namespaces.ts";
import { checkOn } from "#registry/epp/pool/coalesced-checks.ts";
import { OrdinaryPrices } from "#registry/epp/pool/ordinary-prices.ts";
import type { EppPool, EppPoolOptions, PriceOptions } from "#registry/epp/pool/pool.ts";
import { findPrice, type NamePrice, type PaidCommand, premiumDecision } from "#registry/premium.ts";

type Settings = Pick<EppPoolOptions, "clock" | "random" | "premium" | "prices" | "periodForm">;

export class PaidPrices {
  readonly #pool: Pick<EppPool, "acquire">;
  readonly #settings: Settings;
  readonly #ordinaryPrices: OrdinaryPrices;

  constructor(pool: Pick<EppPool, "acquire">, settings: Settings) {
    const { clock, random, prices } = settings;
    this.#pool = pool;
    this.#settings = settings;
    this.#ordinaryPrices = new OrdinaryPrices({ clock, random, prices });
  }

  /** @throws as EppPool.findPrice */
  async find(name: string, asked: PaidCommand, { purpose, waitMs, premium }: PriceOptions): Promise<NamePrice> {
    const { random, prices, premium: policy, periodForm = "years" } = this.#settings;
    using lease = await this.#pool.acquire(purpose, { waitMs });
    if (!lease.extensionURIs.includes(feeNamespace)) return { decision: "standard" };
    // One command, because registries refuse the others of a check when one cannot be priced (RFC 8748 §5.1.1).
    const question = { commands: [asked], periodForm, currency: (prices ?? policy)?.currency };
    const askFees = async (of: string) => (await checkOn(lease, random, of, question)).fees;
    const fees = await askFees(name);
    const amount = findPrice(fees, asked.command)?.amount;
    if (!fees || amount === undefined) {
      return { decision: premiumDecision({ premium, ordinary: undefined }, { ...(fees && { fees }) }, asked.command) };
    }
    const ordinary = await this.#ordinaryPrices.find(name, asked, (of) => askFees(of).catch(noneIfRefused));
    return {
      decision: premiumDecision({ premium, ordinary }, { fees }, asked.command),
      price: { amount, currency: fees.currency },
      ...(ordinary && { ordinary }),
    };
  }
}

/** Some registries say nothing about the renewal of an unregistered name. */
function noneIfRefused(error: unknown): undefined {
  if (!(error instanceof EppCheckRefused) || !error.isAboutQuestion) throw error;
}
