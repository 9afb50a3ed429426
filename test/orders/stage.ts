/** Orders in states that only odd behaviour of a registry brings about. */
import assert from "node:assert/strict";
import type { TestGateway, TestReseller } from "../harness/gateway.ts";
import { runSql } from "../harness/sql.ts";
import { type PlacedOrder, place, registrarId, until } from "./judge.ts";

/**
 * An order whose name the registry holds for us from between its check and its create on, through no order of ours: the
 * machine cannot decide what that means.
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
    const unexplained = `SELECT FROM order_history JOIN orders AS o ON o.id = order_id
      WHERE order_code = $1 AND event = 'unexplained'`;
    return (await runSql(databaseUrl, unexplained, [order.code])).length > 0;
  });
  return order;
}

/** Makes the registry hold a name for us, as after a telephone call. Needs a name that we registered before. */
export function holdByHand({ registry }: TestGateway, name: string, authInfo = "made-by-hand-1"): void {
  const [any] = registry.store.domains.values();
  assert.ok(any);
  registry.store.domains.put({ ...any, name, clID: registrarId, authInfo });
}

/** A message of the registry about a name's create. */
export function putMessage({ registry }: TestGateway, id: string, name: string, approved: boolean, text: string): void {
  const create = registry.store.journal.entries({ name, command: "domain:create" }).at(-1);
  registry.store.messages.put({
    id,
    registrar: registrarId,
    queuedAt: "2030-01-01T00:00:00.000Z",
    text,
    name,
    approved,
    clTRID: create?.clTRID,
    svTRID: create?.svTRID ?? "SBX-0",
  });
}

/** The registry decides about a `pending-never-` name. */
export function decide(gateway: TestGateway, name: string, approved: boolean): void {
  const { store } = gateway.registry;
  const domain = store.domains.find(name);
  assert.ok(domain);
  if (approved) {
    store.domains.put({ ...domain, statuses: [], scheduled: undefined });
  } else {
    store.domains.delete(name);
    const event = { at: domain.crDate, direction: "event", command: "domain:deny", name, executed: false } as const;
    store.journal.record({ number: store.nextNumber(), ...event });
  }
}

/** How often an event is in an order's history. */
export async function countEvents({ databaseUrl }: TestGateway, order: PlacedOrder, event: string): Promise<number> {
  const events = `SELECT FROM order_history JOIN orders AS o ON o.id = order_id
    WHERE order_code = $1 AND event = $2`;
  return (await runSql(databaseUrl, events, [order.code, event])).length;
}

export async function openAlarms({ databaseUrl }: TestGateway): Promise<{ kind: string; subject: string }[]> {
  return runSql(databaseUrl, "SELECT kind, subject FROM alarms WHERE resolved_at IS NULL ORDER BY id");
}

/** The codes of orders with an open alarm. */
export async function alarmedOrders(gateway: TestGateway): Promise<string[]> {
  return (await openAlarms(gateway)).filter(({ kind }) => kind === "order").map(({ subject }) => subject);
}
