import type { TestContext } from "node:test";
import { startApiProcess } from "./api-process.ts";
import { startTestGateway } from "./gateway.ts";
import { insertDomains } from "./insert-domains.ts";
import { callsToReset, resetAtRandom } from "./random-resets.ts";
import { seededRandom } from "./seeded-random.ts";

const seedDefault = 21;
const resellersCount = 4;
/** Three pages of CSV. */
const namesCount = 1_200;

/** An api as a process, with clients who disconnect from it: `PROPERTY_SEED` names other moments. */
export async function startResetApi(t: TestContext) {
  const gateway = await startTestGateway(t, { worker: false, context: { checkBudgetMs: 500 } });
  const api = await startApiProcess(t, gateway);
  // Two lists as CSV at once are the most for one reseller.
  const resellers = await Promise.all(
    Array.from({ length: resellersCount }, () => gateway.addReseller({ rateLimit: 1_000_000 })),
  );
  const shown = { expiresAt: "2099-01-01", statuses: ["ok"], delegation: [{ name: "ns1.dns-host.net" }] };
  const domains = Array.from({ length: namesCount * resellersCount }, (_, at) => ({
    name: `name-${at}.example`,
    ...shown,
  }));
  for (const [place, reseller] of resellers.entries()) {
    const own = domains.filter((_, at) => at % resellersCount === place);
    await insertDomains(gateway.databaseUrl, reseller, own);
  }
  const seed = Number(process.env.PROPERTY_SEED ?? seedDefault);
  t.diagnostic(`seed ${seed}`);
  const options = {
    keys: resellers.map(({ key }) => key),
    clock: gateway.context.clock,
    calls: callsToReset("name-1.example"),
    random: seededRandom(seed),
  };
  return { api, reset: (count: number, atOnce: number) => resetAtRandom({ ...options, url: api.url }, count, atOnce) };
}
