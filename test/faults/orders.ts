/** The orders of a batch: placed by resellers, observed, cancelled, and disturbed by other registrants of their names. */
import assert from "node:assert/strict";
import { DatabaseUnavailable } from "#db/errors.ts";
import { cancelOrder } from "#domains/orders/cancel.ts";
import { isFinal } from "#domains/orders/states.ts";
import { sleep, systemClock } from "#lib/clock.ts";
import type { TestReseller } from "../harness/gateway.ts";
import { registrarId } from "../harness/profiles.ts";
import { byHandAuthInfo, type Evidence, type LastAnswer } from "./judge.ts";
import { byHandLabel, faultOf, snipedLabel } from "./labels.ts";
import type { Stage } from "./stage.ts";

interface PlacedOrder {
  name: string;
  reseller: TestReseller;
  location: string;
  code: string;
}

/** An order's row in the database: it says when to proceed, and is no evidence for the judge. */
export interface OrderState {
  name: string;
  status: string;
  phase: string | null;
  nextStepAt: Date | null;
  /** The note for a person. */
  note: string | null;
  /** Only a person can decide. */
  isForPerson: boolean;
  /** A cancellation is requested, and the registry has not answered the delete. */
  isCancelling: boolean;
}

/** A stage with the orders of one batch on it. */
export interface Orders {
  stage: Stage;
  /** Each creates a contact with its first order. */
  resellers: TestReseller[];
  placed: Map<string, PlacedOrder>;
  cancelAsked: Set<string>;
}

/** Between two checks of a pending condition. */
export const lookMs = 40;
const placedAtOnce = 6;

export async function placeAll(orders: Orders, names: string[]): Promise<void> {
  const { resellers } = orders;
  const waiting = names.entries();
  const place = async () => {
    for (const [index, name] of waiting) {
      const reseller = resellers[index % resellers.length]!;
      const location = await placeOrder(orders, reseller, name);
      const code = location.slice(location.lastIndexOf("/") + 1);
      orders.placed.set(name, { name, reseller, location, code });
    }
  };
  await Promise.all(Array.from({ length: placedAtOnce }, place));
}

/** Places an order like a reseller, who retries while creates are paused, between two owners, and after a failed check. */
async function placeOrder({ stage }: Orders, reseller: TestReseller, name: string): Promise<string> {
  for (;;) {
    const reply = await stage.gateway.send(reseller, "POST", "/domains/registrations", { body: { domain_name: name } });
    if (reply.status === 202) return reply.headers.location ?? "";
    const isPassing = reply.status === 503 || reply.text.includes("domain_availability_lookuperror");
    assert.ok(isPassing, `${name}: ${reply.status} ${reply.text}`);
    await sleep(lookMs);
  }
}

/** Cancels orders as an operator. */
export async function cancel({ stage, placed, cancelAsked }: Orders, names: string[]): Promise<void> {
  for (const name of names) {
    cancelAsked.add(name);
    const ask = () => cancelOrder(stage.gateway.context, placed.get(name)!.code);
    await ask().catch((error: unknown) => {
      // On a busy machine the database may be late, and an operator retries.
      if (!(error instanceof DatabaseUnavailable)) throw error;
      return ask();
    });
  }
}

/** Registers the names of these orders for others, or by hand, as their labels say. */
export async function interfere({ stage }: Orders, names: string[]): Promise<void> {
  const { registry } = stage.gateway;
  for (const name of names) {
    if (registry.store.domains.find(name)) continue;
    const { label } = faultOf(name);
    if (label.endsWith(snipedLabel)) await registry.seed([name]);
    if (label !== byHandLabel) continue;
    await registry.seed([name]);
    const seeded = registry.store.domains.find(name);
    assert.ok(seeded);
    registry.store.domains.put({ ...seeded, clID: registrarId, crID: registrarId, authInfo: byHandAuthInfo });
  }
}

export async function readStates({ stage, placed }: Orders): Promise<OrderState[]> {
  return stage.query<OrderState>(
    `SELECT domain_name AS name, status, phase, next_step_at AS "nextStepAt", operator_note AS note,
       operator_note IS NOT NULL AND phase IN ('verify', 'cancel') AS "isForPerson",
       cancel_requested_at IS NOT NULL AND NOT EXISTS (SELECT FROM attempts
         WHERE order_id = o.id AND command = 'domain:delete' AND answered_at IS NOT NULL) AS "isCancelling"
     FROM registration_orders AS o WHERE domain_name = ANY($1)`,
    [[...placed.keys()]],
  );
}

/** Whether the order will not change any more. */
export function isDone({ name, status, isForPerson, isCancelling }: OrderState): boolean {
  const { ends } = faultOf(name);
  return isFinal(status) || (status === "Pending" && ends.includes("Pending") && !isCancelling) || isForPerson;
}

export async function areAllDone(orders: Orders): Promise<boolean> {
  return (await readStates(orders)).every(isDone);
}

/**
 * Waits until every order has ended, the registry has no pending decisions, and its messages are acknowledged.
 * @returns what has not ended after a long time
 */
export async function untilAllDone(orders: Orders): Promise<string[]> {
  const { gateway, patienceMs } = orders.stage;
  const { store } = gateway.registry;
  const unended = async () => [
    ...(await readStates(orders)).filter((state) => !isDone(state)).map(describeUnended),
    ...[...orders.placed.keys()].filter((name) => {
      const action = store.domains.find(name)?.scheduled?.action;
      return action !== undefined && action !== "never";
    }),
    ...store.messages.values().map(({ id, name }) => `${name}: its message ${id} is not acknowledged`),
  ];
  const startedMs = systemClock.monotonicMs();
  for (;;) {
    const left = await unended();
    if (left.length === 0 || systemClock.monotonicMs() - startedMs > patienceMs) return left;
    await sleep(lookMs);
  }
}

/** Describes an open order for a developer. */
export function describeUnended({ name, status, phase, nextStepAt, note }: OrderState): string {
  const state = phase === null ? status : `${status} (${phase})`;
  return `${name}: still ${state}, next step at ${nextStepAt?.toISOString() ?? "any time"}${note ? `, ${note}` : ""}`;
}

/** Collects the judge's evidence. */
export async function gatherEvidence({ stage, placed, cancelAsked }: Orders): Promise<Evidence> {
  const { gateway, namesPlayed } = stage;
  const { store } = gateway.registry;
  const read = async (reseller: TestReseller, target: string) => {
    let reply = await gateway.send(reseller, "GET", target);
    while (reply.status === 503) reply = await gateway.send(reseller, "GET", target);
    return reply.body;
  };
  const lastAnswers: LastAnswer[] = [];
  for (const { name, reseller, location, code } of placed.values()) {
    const order = (await read(reseller, location)) as { status: string };
    const owned = (await read(reseller, `/domains/${name}`)) as { expiration_date?: string };
    const isCancelAsked = cancelAsked.has(name);
    lastAnswers.push({
      name,
      orderCode: code,
      status: order.status,
      expirationDate: owned.expiration_date,
      isCancelAsked,
    });
  }
  // Those of earlier batches are judged already.
  const domains = store.domains.values().filter(({ name }) => !namesPlayed.has(name));
  for (const name of placed.keys()) namesPlayed.add(name);
  return { journal: store.journal.entries(), domains, lastAnswers };
}
