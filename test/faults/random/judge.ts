/** Judges a play when all its orders have ended: orders, names, values, ledgers, histories and witnesses. */
import { registrarId } from "../../harness/profiles.ts";
import { until } from "../../orders/judge.ts";
import { changes, registrations } from "../order-tables.ts";
import { readRowsPassed } from "../rows.ts";
import { type EndedOrder, judgeNames, judgeOrders } from "./judge-names.ts";
import { judgeValues } from "./judge-values.ts";
import { type Actor, type Play, rivalId } from "./play.ts";
import type { SeenEvent } from "./witnesses.ts";

/** Kinds of which an account may place a limited number in a day. */
const countedKinds = new Set(["create", "renew", "restore"]);

const eventOfStatus: Readonly<Record<string, string>> = {
  Finished: "order.finished",
  Errors: "order.failed",
  FailedValidation: "order.failed",
  Cancelled: "order.cancelled",
};

/** Waits for the end of every order. @returns how they ended, and the mistakes */
export async function judgePlay(play: Play): Promise<{ ended: EndedOrder[]; faults: string[] }> {
  const { gateway, placed, actors } = play;
  const { store } = gateway.registry;
  const ended: EndedOrder[] = [];
  for (const order of placed.values()) {
    const { status, error_text } = await gateway.settled(order.reseller, `/orders/${order.code}`);
    ended.push({ ...order, status: String(status), reason: String(error_text ?? "") });
  }
  await until("every message was read", () =>
    store.messages.values().every(({ registrar }) => registrar !== registrarId),
  );
  const toLookAt = "SELECT FROM domains WHERE look_at < now() + interval '10 s'";
  await until(
    "every name was looked at of which the registry has told something",
    async () => (await play.query(toLookAt)).length === 0,
  );
  const faults = [...play.faults, ...judgeOrders(store.journal.entries(), ended)];
  for (const actor of actors) faults.push(...(await judgeActor(play, actor, ended)));
  return { ended, faults: [...faults, ...(await judgeLedgers(play, ended)), ...(await judgeHistories(play, ended))] };
}

async function judgeActor({ gateway, isThin }: Play, actor: Actor, ended: readonly EndedOrder[]): Promise<string[]> {
  const { reseller, played, witness } = actor;
  const { store } = gateway.registry;
  const faults = await judgeNames({ gateway, reseller, rivalId }, played);
  for (const { name } of played) {
    const domain = store.domains.find(name);
    const own = ended.filter((order) => order.name === name);
    if (domain?.clID !== registrarId || domain.deletion) continue;
    faults.push(...judgeValues(store, domain, own, isThin).map((fault) => `${name}: ${fault}`));
  }
  const { events, faults: missed } = await witness.testify();
  const own = ended.filter((order) => order.reseller === reseller);
  return [...faults, ...missed.map((fault) => `reseller ${reseller.id}: ${fault}`), ...judgeEvents(events, own)];
}

/** The end of every order is one event. */
function judgeEvents(events: readonly SeenEvent[], orders: readonly EndedOrder[]): string[] {
  const byOrder = Map.groupBy(
    events.filter(({ type }) => type.startsWith("order.")),
    ({ data }) => data.order_code,
  );
  return orders.flatMap(({ code, status }) => {
    const types = (byOrder.get(code) ?? []).map(({ type }) => type);
    const isRight = types.length === 1 && types[0] === eventOfStatus[status];
    return isRight ? [] : [`${code} is ${status}, and its events are: ${types.join(", ") || "none"}`];
  });
}

interface LedgerRow {
  reseller_id: number;
  day: string;
  today: string;
  placed: string;
}

/** What an account has ordered today is what it was accepted for. */
async function judgeLedgers(play: Play, ended: readonly EndedOrder[]): Promise<string[]> {
  const rows = await play.query<LedgerRow>(
    "SELECT reseller_id::int4, day::text, current_date::text AS today, placed FROM paid_orders",
  );
  return rows.flatMap(({ reseller_id: id, day, today, placed }) => {
    const accepted = ended.filter(({ kind, reseller }) => countedKinds.has(kind) && reseller.id === id).length;
    // At midnight the count begins again.
    if (day !== today || Number(placed) === accepted) return [];
    return [`reseller ${id}: ${accepted} orders that cost money were accepted, and ${placed} counted`];
  });
}

/** Every history is a way through the table of states. */
async function judgeHistories({ query }: Play, ended: readonly EndedOrder[]): Promise<string[]> {
  const codes = ended.map(({ code }) => code);
  const faults: string[] = [];
  for (const table of [registrations, changes]) {
    await readRowsPassed({ query }, table, codes).catch((error: Error) => faults.push(error.message));
  }
  return faults;
}
