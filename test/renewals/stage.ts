/** A gateway with names whose terms end: its clock and the registry's are moved together. */
import assert from "node:assert/strict";
import type { RegistryProfile } from "#registry/registries.ts";
import type { Settings } from "../../sandbox/registry/settings.ts";
import type { Scope } from "../harness/database.ts";
import { startTestGateway, type TestGateway, type TestReseller } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { createSteeredClock, type SteeredClock } from "../harness/steered-clock.ts";
import { place, registrarId, until } from "../orders/judge.ts";

const hoursPerDay = 24;
const dayMs = hoursPerDay * 60 * 60_000;

export interface Stage {
  gateway: TestGateway;
  reseller: TestReseller;
  /** The gateway's clock. */
  clock: SteeredClock;
  /** Moves both clocks forward, the registry's first. */
  travel(days: number): Promise<void>;
  /** Moves both clocks to this many days before the end of the name's term; after it, if negative. */
  travelTo(name: string, daysBefore: number): Promise<void>;
}

export interface StageOptions {
  registry?: Partial<RegistryProfile>;
  sandbox?: Partial<Settings>;
}

/** Names are registered for a year, and renewed 30 days before its end. */
export async function startStage(scope: Scope, { registry, sandbox }: StageOptions = {}): Promise<Stage> {
  const clock = createSteeredClock();
  const gateway = await startTestGateway(scope, {
    clock,
    registry: { renewalIntervalMs: 50, reconcileIntervalMs: 300, ...registry },
    sandbox: { lateMs: 1_500, ...sandbox },
  });
  const reseller = await gateway.addReseller();
  const travel = async (days: number) => {
    await gateway.registry.advance(Math.round(days * dayMs));
    clock.skip(days * hoursPerDay);
  };
  return {
    gateway,
    reseller,
    clock,
    travel,
    async travelTo(name, daysBefore) {
      const { expiration_date } = await portfolioEntry(gateway, reseller, name);
      const aheadMs = Date.parse(expiration_date) - daysBefore * dayMs - clock.now().getTime();
      assert.ok(aheadMs > 0, "that time is over");
      await travel(Math.ceil((aheadMs / dayMs) * 100_000) / 100_000);
    },
  };
}

/** Registers names, which enter the portfolio. */
export async function own({ gateway, reseller }: Stage, ...names: string[]): Promise<void> {
  for (const name of names) {
    const { location } = await place(gateway, reseller, name);
    assert.equal((await gateway.settled(reseller, location)).status, "Finished", name);
  }
}

interface NameDates {
  /** The registry's date, if it differs from the portfolio's. */
  registryExDate?: Date;
  expirationDate: Date;
  willRenew?: boolean;
}

/** Inserts names into the registry and the portfolio, as if they had been registered long ago. */
export async function giveNames(
  { registry, databaseUrl }: TestGateway,
  reseller: TestReseller,
  names: Map<string, NameDates>,
): Promise<void> {
  const rows = [...names].map(([name, { expirationDate, registryExDate = expirationDate, willRenew = true }]) => {
    const roid = `D${registry.store.nextNumber()}-TEST`;
    const own = { clID: registrarId, crID: registrarId, authInfo: "not-used-here", contacts: [], statuses: [] };
    const crDate = yearsLater(expirationDate.toISOString(), -1);
    registry.store.domains.put({ ...own, name, roid, crDate, exDate: registryExDate.toISOString() });
    return { name, expires: expirationDate, will_renew: willRenew };
  });
  await runSql(
    databaseUrl,
    `INSERT INTO domains (domain_name, reseller_id, registry_id, registration_date, expiration_date, registry_ex_date,
       will_renew, status)
     SELECT name, $1, 'sandbox', expires - interval '1 year', expires, expires, will_renew, 'ok'
     FROM json_to_recordset($2) AS given (name text, expires timestamptz, will_renew boolean)`,
    [reseller.id, JSON.stringify(rows)],
  );
}

interface PortfolioEntry {
  expiration_date: string;
  will_renew: boolean;
}

export async function portfolioEntry(
  gateway: TestGateway,
  reseller: TestReseller,
  name: string,
): Promise<PortfolioEntry> {
  const { status, body, text } = await gateway.send(reseller, "GET", `/domains/${name}`);
  assert.equal(status, 200, `${name}: ${text}`);
  return body as PortfolioEntry;
}

/** PUT /domains/<name>/renew; returns the answer's status. */
export async function setWillRenew(stage: Stage, name: string, willRenew: boolean): Promise<number> {
  const { gateway, reseller } = stage;
  const { status } = await gateway.send(reseller, "PUT", `/domains/${name}/renew`, { body: { will_renew: willRenew } });
  return status;
}

export interface RenewalRow {
  id: string;
  renewal_code: string;
  status: string;
  /** What its order does, or how it waits. */
  phase: string | null;
  reason: string | null;
  order_code: string | null;
}

/** The name's latest renewal. */
export async function renewalOf({ databaseUrl }: TestGateway, name: string): Promise<RenewalRow | undefined> {
  const sql = `SELECT renewal.id, renewal_code, renewal.status,
      CASE WHEN renewal.ended_at IS NULL THEN coalesce(placed.reason, renewal.reason) ELSE renewal.reason END AS reason,
      placed.order_code AS order_code,
      CASE WHEN placed.ended_at IS NOT NULL OR renewal.phase IS NULL THEN renewal.phase
        WHEN placed.status = 'Pending' THEN 'pending' WHEN placed.phase = 'verify' THEN 'verify' ELSE renewal.phase END AS phase
    FROM renewals AS renewal LEFT JOIN LATERAL (
      SELECT * FROM orders WHERE renewal_id = renewal.id ORDER BY id DESC LIMIT 1) AS placed ON true
    WHERE renewal.domain_name = $1 ORDER BY renewal.id DESC LIMIT 1`;
  const [row] = await runSql<RenewalRow>(databaseUrl, sql, [name]);
  return row;
}

/** Waits for a status, or for `Status (phase)`. */
export async function untilRenewalIs(gateway: TestGateway, name: string, wanted: string): Promise<void> {
  await until(`the renewal of ${name} is ${wanted}`, async () => {
    const row = await renewalOf(gateway, name);
    return row !== undefined && (row.status === wanted || `${row.status} (${row.phase})` === wanted);
  });
}

/** The commands about a name that reached the registry. */
export function commands({ registry }: TestGateway, name: string, command: "domain:renew" | "domain:delete") {
  return registry.store.journal.entries({ name, command }).filter(({ direction }) => direction === "in");
}

export function executed(gateway: TestGateway, name: string, command: "domain:renew" | "domain:delete"): number {
  return commands(gateway, name, command).filter((entry) => entry.executed).length;
}

export const yearsLater = (date: string, years: number): string => {
  const moved = new Date(date);
  moved.setUTCFullYear(moved.getUTCFullYear() + years);
  return moved.toISOString();
};

/** The name is renewed by exactly one renew, at the registry and in the portfolio. */
export async function assertRenewedOnce(stage: Stage, name: string, before: string): Promise<void> {
  const { gateway, reseller } = stage;
  await untilRenewalIs(gateway, name, "Renewed");
  assert.equal(executed(gateway, name, "domain:renew"), 1, `${name}: renews executed`);
  const wanted = yearsLater(before, 1);
  assert.equal(gateway.registry.store.domains.find(name)?.exDate, wanted, `${name}: the registry's exDate`);
  assert.equal((await portfolioEntry(gateway, reseller, name)).expiration_date, wanted, name);
  const open = `SELECT cl_trid FROM attempts AS attempt JOIN orders ON changes.id = order_id
    WHERE domain_name = $1 AND answered_at IS NULL`;
  assert.deepEqual(await runSql(gateway.databaseUrl, open, [name]), [], "attempts are left open");
}
