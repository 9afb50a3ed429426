/** Orders in states that only a registry's oddity brings about. */
import assert from "node:assert/strict";
import type { TestGateway, TestReseller } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { type PlacedOrder, place, registrarId, until } from "./judge.ts";

/**
 * An order whose name the registry comes to hold for us between its check and its create, through no order of ours: no
 * machine can say what that means.
 */
export async function placeUnexplained(
  gateway: TestGateway,
  reseller: TestReseller,
  name: string,
): Promise<PlacedOrder> {
  const { registry, databaseUrl } = gateway;
  const hold = registry.hold({ command: "domain:create", name, at: "before-execution" });
  const order = await place(gateway, reseller, name);
  await hold.reached(1);
  holdByHand(gateway, name);
  hold.release();
  await until("it is unexplained", async () => {
    const unexplained = `SELECT FROM order_history JOIN registration_orders AS o ON o.id = order_id
      WHERE order_code = $1 AND event = 'unexplained'`;
    return (await runSql(databaseUrl, unexplained, [order.code])).length > 0;
  });
  return order;
}

/** The registry holds a name for us, as if by a telephone call. Needs one that we registered before. */
function holdByHand({ registry }: TestGateway, name: string): void {
  const [any] = registry.store.domains.values();
  assert.ok(any);
  registry.store.domains.put({ ...any, name, clID: registrarId, authInfo: "made-by-hand-1" });
}

/** How often something has happened to an order. */
export async function countEvents({ databaseUrl }: TestGateway, order: PlacedOrder, event: string): Promise<number> {
  const events = `SELECT FROM order_history JOIN registration_orders AS o ON o.id = order_id
    WHERE order_code = $1 AND event = $2`;
  return (await runSql(databaseUrl, events, [order.code, event])).length;
}

export async function openAlarms({ databaseUrl }: TestGateway): Promise<{ kind: string; subject: string }[]> {
  return runSql(databaseUrl, "SELECT kind, subject FROM alarms WHERE resolved_at IS NULL ORDER BY id");
}
