/** Places orders and checks their ends: what the registry holds and executed, and what the API says. */
import assert from "node:assert/strict";
import { sleep } from "#lib/clock.ts";
import type { TestGateway, TestReseller } from "../harness/gateway.ts";

export const registrarId = "deedhouse";

export interface PlacedOrder {
  name: string;
  location: string;
  code: string;
}

/** Places a registration that is answered with 202. Retries when the registry did not answer in time whether the name is free. */
export async function place(gateway: TestGateway, reseller: TestReseller, name: string): Promise<PlacedOrder> {
  const send = () => gateway.send(reseller, "POST", "/domains/registrations", { body: { domain_name: name } });
  let reply = await send();
  for (let more = 3; more > 0 && reply.text.includes("domain_availability_lookuperror"); more--) reply = await send();
  assert.equal(reply.status, 202, `${name}: ${reply.text}`);
  const location = reply.headers.location ?? "";
  return { name, location, code: location.slice(location.lastIndexOf("/") + 1) };
}

export function creates(gateway: TestGateway, name: string) {
  return sent(gateway, name, "domain:create");
}

export function deletes(gateway: TestGateway, name: string) {
  return sent(gateway, name, "domain:delete");
}

function sent({ registry }: TestGateway, name: string, command: string) {
  return registry.store.journal.entries({ name, command }).filter(({ direction }) => direction === "in");
}

export async function statusOf(gateway: TestGateway, reseller: TestReseller, order: PlacedOrder): Promise<string> {
  const { body } = await gateway.send(reseller, "GET", order.location);
  return (body as { status: string }).status;
}

/**
 * Waits for the order's end, and compares it with the registry: a finished name is held by us with the expiry date that
 * the portfolio shows, any other is not held by us, and no create was executed beside one that still stands.
 */
export async function assertEnds(
  gateway: TestGateway,
  reseller: TestReseller,
  order: PlacedOrder,
  status: string,
): Promise<void> {
  const settled = await gateway.settled(reseller, order.location);
  assert.equal(settled.status, status, order.name);
  assertHeldRight(gateway, order.name, status);
  const { body } = await gateway.send(reseller, "GET", `/domains/${order.name}`);
  const owned = body as { expiration_date?: string };
  const held = gateway.registry.store.domains.find(order.name);
  assert.equal(owned.expiration_date, status === "Finished" ? held?.exDate : undefined, order.name);
}

function assertHeldRight({ registry }: TestGateway, name: string, status: string): void {
  const isHeld = registry.store.domains.find(name)?.clID === registrarId;
  assert.equal(isHeld, status === "Finished", `${name} is ${status}, and held by us: ${isHeld}`);
  const { journal } = registry.store;
  const executed = (command: string) => journal.entries({ name, command }).filter((entry) => entry.executed).length;
  const created = executed("domain:create");
  const decided = ["domain:undo", "domain:deny"].flatMap((command) => journal.entries({ name, command })).length;
  const undone = decided + executed("domain:delete");
  assert.equal(created - undone, isHeld ? 1 : 0, `${name}: ${created} creates executed, ${undone} undone`);
}

/** Waits until something is true. A test that waits this long has failed. */
export async function until(what: string, isTrue: () => boolean | Promise<boolean>): Promise<void> {
  for (let looks = 0; looks < 6_000; looks++) {
    if (await isTrue()) return;
    await sleep(10);
  }
  throw new Error(`this never became true: ${what}`);
}
