/** The orders of a batch: placed by resellers, observed, cancelled, and disturbed by other registrants of their names. */
import assert from "node:assert/strict";
import { DatabaseUnavailable } from "#db/errors.ts";
import { cancelOrder } from "#domains/orders/operate.ts";
import { isFinal } from "#domains/orders/states.ts";
import { sleep, systemClock } from "#lib/clock.ts";
import { OperatorError } from "#operator-error.ts";
import { type Domain, statusesOf } from "../../sandbox/registry/objects.ts";
import type { Store } from "../../sandbox/registry/store.ts";
import type { TestReseller } from "../harness/gateway.ts";
import { registrarId } from "../harness/profiles.ts";
import { giveNames } from "../renewals/stage.ts";
import { byHandAuthInfo, type Evidence, type LastAnswer } from "./judge.ts";
import type { ChangeEvidence } from "./judge-changes.ts";
import { commandFaultsOf } from "./kinds.ts";
import { byHandLabel, snipedLabel } from "./labels.ts";
import type { PortfolioEntry } from "./portfolio.ts";
import type { Stage } from "./stage.ts";
import { faultOf, type Subject } from "./subjects.ts";

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
  subject: Subject;
  /** Each creates a contact with its first order. */
  resellers: TestReseller[];
  placed: Map<string, PlacedOrder>;
  cancelAsked: Set<string>;
  /** The names of orders about registered names, as the registry has them before. */
  owned: Map<string, Domain>;
  /** Entries of the registry's journal before this number are about their preparation. */
  judgedFrom: number;
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

/** The ends of the names' terms: far enough away that no renewal is scheduled, and their add grace periods are over. */
const termDaysLeft = 200;
const dayMs = 24 * 60 * 60_000;

/** For orders about registered names: the resellers own the names, and the registry gets their faults. */
export async function ownAll(orders: Orders, names: string[]): Promise<void> {
  const { kind } = orders.subject;
  if (!kind) return;
  const { gateway, query } = orders.stage;
  const { registry } = gateway;
  const expirationDate = new Date(
    Math.floor(gateway.context.clock.now().getTime() / 1000) * 1000 + termDaysLeft * dayMs,
  );
  const byReseller = Map.groupBy(names.entries(), ([index]) => index % orders.resellers.length);
  for (const [index, own] of byReseller) {
    const dates = new Map(own.map(([, name]) => [name, { expirationDate }]));
    await giveNames(gateway, orders.resellers[index]!, dates);
  }
  const waiting = names.entries();
  const prepare = async () => {
    for (const [index, name] of waiting) {
      await kind.prepare?.(gateway, orders.resellers[index % orders.resellers.length]!, name);
    }
  };
  await Promise.all(Array.from({ length: placedAtOnce }, prepare));
  for (const name of names) {
    const given = registry.store.domains.find(name)!;
    orders.owned.set(name, given);
    await query("UPDATE domains SET statuses = $2 WHERE domain_name = $1", [name, statusesOf(given)]);
  }
  orders.judgedFrom = registry.store.nextNumber();
  registry.setFaults({ commands: names.flatMap((name) => commandFaultsOf(kind, name)) });
}

function requestOf({ subject: { kind }, owned }: Orders, name: string) {
  const registration = { method: "POST", target: "/domains/registrations", body: { domain_name: name } } as const;
  return kind ? kind.request(owned.get(name)!) : registration;
}

/** Places an order like a reseller, who retries while creates are paused, between two owners, and after a failed check. */
async function placeOrder(orders: Orders, reseller: TestReseller, name: string): Promise<string> {
  const { method, target, body } = requestOf(orders, name);
  for (;;) {
    const reply = await orders.stage.gateway.send(reseller, method, target, body ? { body } : {});
    if (reply.status === 202) return reply.headers.location ?? "";
    const isPassing = reply.status === 503 || reply.text.includes("domain_availability_lookuperror");
    assert.ok(isPassing, `${name}: ${reply.status} ${reply.text}`);
    await sleep(lookMs);
  }
}

/** Cancels orders as an operator. */
export async function cancel({ stage, placed, cancelAsked }: Orders, names: string[]): Promise<void> {
  const cancelOne = async (code: string) => {
    await cancelOrder(stage.gateway.context, code);
  };
  for (const name of names) {
    cancelAsked.add(name);
    const ask = () => cancelOne(placed.get(name)!.code);
    await ask().catch((error: unknown) => {
      // It has ended; or it was sent, and is no registration.
      if (error instanceof OperatorError) return undefined;
      // On a busy machine the database may be late, and an operator retries.
      if (!(error instanceof DatabaseUnavailable)) throw error;
      return ask();
    });
  }
}

/** Registers the names of these orders for others, or by hand, as their labels say. */
export async function interfere({ stage, subject }: Orders, names: string[]): Promise<void> {
  if (subject.kind) return;
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

export async function readStates({ stage, subject: { table }, placed }: Orders): Promise<OrderState[]> {
  return stage.query<OrderState>(
    `SELECT domain_name AS name, status, phase, next_step_at AS "nextStepAt", operator_note AS note,
       ${table.isForPerson} AS "isForPerson", ${table.isCancelling} AS "isCancelling"
     FROM orders AS o WHERE order_code = ANY($1)`,
    [[...placed.values()].map(({ code }) => code)],
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
    ...ownMessages(store).map(({ id, name }) => `${name}: its message ${id} is not acknowledged`),
  ];
  const startedMs = systemClock.monotonicMs();
  for (;;) {
    const left = await unended();
    if (left.length === 0 || systemClock.monotonicMs() - startedMs > patienceMs) return left;
    await sleep(lookMs);
  }
}

const ownMessages = ({ messages }: Store) => messages.values().filter(({ registrar }) => registrar === registrarId);

/** Describes an open order for a developer. */
export function describeUnended({ name, status, phase, nextStepAt, note }: OrderState): string {
  const state = phase === null ? status : `${status} (${phase})`;
  return `${name}: still ${state}, next step at ${nextStepAt?.toISOString() ?? "any time"}${note ? `, ${note}` : ""}`;
}

async function readPatiently({ gateway }: Stage, reseller: TestReseller, target: string) {
  let reply = await gateway.send(reseller, "GET", target);
  while (reply.status === 503) reply = await gateway.send(reseller, "GET", target);
  return reply;
}

/** Collects the judge's evidence. */
export async function gatherEvidence({ stage, placed, cancelAsked }: Orders): Promise<Evidence> {
  const { gateway, namesPlayed } = stage;
  const { store } = gateway.registry;
  const read = async (reseller: TestReseller, target: string) => (await readPatiently(stage, reseller, target)).body;
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

/** The same for orders about registered names. */
export async function gatherChanges(orders: Orders): Promise<ChangeEvidence> {
  const { stage, subject, placed, cancelAsked, owned, judgedFrom } = orders;
  const { gateway, namesPlayed } = stage;
  const lastAnswers: ChangeEvidence["lastAnswers"] = [];
  for (const { name, reseller, location, code } of placed.values()) {
    const { status } = (await readPatiently(stage, reseller, location)).body as { status: string };
    const portfolio = await readPatiently(stage, reseller, `/domains/${name}`);
    const entry = portfolio.status === 200 ? (portfolio.body as PortfolioEntry) : undefined;
    const isCancelAsked = cancelAsked.has(name);
    lastAnswers.push({ name, orderCode: code, status, isCancelAsked, before: owned.get(name)!, entry });
    namesPlayed.add(name);
  }
  const { store } = gateway.registry;
  return { kind: subject.kind!, journal: store.journal.entries({ after: judgedFrom }), store, lastAnswers };
}
