/** Names that another registrar asks for, or that are gone from the registry. */
import assert from "node:assert/strict";
import { RawClient } from "../../sandbox/registry/test/raw-client.ts";
import type { Scope } from "../harness/database.ts";
import type { TestReseller } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { until } from "../orders/judge.ts";
import type { Stage } from "../renewals/stage.ts";

export const rivalId = "rival";
/** More than a day: the second look is due. */
export const secondLookDays = 1.01;

/** The other registrar of the sandbox registry, logged in over EPP. */
export async function loginRival(scope: Scope, { gateway }: Stage): Promise<RawClient> {
  const rival = await RawClient.login(gateway.registry, rivalId, "rival-pw-1");
  scope.after(() => rival.close());
  return rival;
}

export interface ListedDeparture {
  domain_name: string;
  left_at: string;
  reason: string;
  gaining_registrar?: string;
  restorable_until?: string;
}

export async function departuresOf({ gateway }: Stage, reseller: TestReseller): Promise<ListedDeparture[]> {
  const { status, body, text } = await gateway.send(reseller, "GET", "/domains/departures");
  assert.equal(status, 200, text);
  return body as ListedDeparture[];
}

export async function isInPortfolio({ gateway, reseller }: Stage, name: string): Promise<boolean> {
  return (await gateway.send(reseller, "GET", `/domains/${name}`)).status === 200;
}

export async function untilLeft(stage: Stage, name: string): Promise<void> {
  await until(`${name} has left`, async () => !(await isInPortfolio(stage, name)));
}

export async function untilNoted({ gateway }: Stage, count = 1): Promise<void> {
  const noted = "SELECT FROM domains WHERE gone_since IS NOT NULL";
  await until(`${count} names seem gone`, async () => (await runSql(gateway.databaseUrl, noted)).length === count);
}

/** Another registrar takes the names, or the registry drops them, and no message says so. */
export function dropSilently({ gateway }: Stage, ...names: string[]): void {
  for (const name of names) gateway.registry.store.domains.delete(name);
}

export function moveSilently({ gateway }: Stage, name: string, clID = rivalId): void {
  const { domains } = gateway.registry.store;
  const domain = domains.find(name);
  assert.ok(domain);
  domains.put({ ...domain, clID });
}

/** The owner's looks at a name so far. */
export function looks({ gateway }: Stage, name: string): number {
  return gateway.registry.store.journal.entries({ name, command: "domain:info", direction: "in" }).length;
}

/** As a comparison of the whole portfolio would do it: looks at a name whose term does not end soon. */
export async function lookNow({ gateway }: Stage, name: string): Promise<void> {
  const now = gateway.context.clock.now();
  await runSql(gateway.databaseUrl, "UPDATE domains SET look_at = $2 WHERE domain_name = $1", [name, now]);
}

export async function openAlarms({ gateway }: Stage): Promise<{ kind: string; subject: string }[]> {
  return runSql(gateway.databaseUrl, "SELECT kind, subject FROM alarms WHERE resolved_at IS NULL ORDER BY id");
}
