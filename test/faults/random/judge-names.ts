/**
 * What must be true of names when all orders about them have ended. The evidence is the registry's journal and store, and the
 * answers of the API.
 */
import type { JournalEntry } from "../../../sandbox/registry/journal.ts";
import type { ListedDeparture } from "../../departures/stage.ts";
import type { TestGateway, TestReseller } from "../../harness/gateway.ts";
import { registrarId } from "../../harness/profiles.ts";
import { yearsLater } from "../../renewals/stage.ts";
import { differences, type PortfolioEntry } from "../portfolio.ts";

export interface EndedOrder {
  code: string;
  kind: string;
  name: string;
  /** The call that placed it. */
  about: string;
  /** Of a renewal. */
  years?: number | undefined;
  /** What it asks for. */
  body?: object | undefined;
  /** The account that placed it. */
  reseller: TestReseller;
  status: string;
  reason: string;
}

export interface PlayedName {
  name: string;
  /** At its beginning. */
  exDate: string;
}

interface Evidence {
  gateway: TestGateway;
  reseller: TestReseller;
  /** The registrar to which names may have gone. */
  rivalId: string;
}

/** Why an order may fail: its name left, or shows a status that forbids the change, or the registry's policy does. */
const explanations: Readonly<Record<string, readonly RegExp[]>> = {
  FailedValidation: [/2306/, /the host .* does not exist/],
  Errors: [
    /2304/,
    /no longer holds the name/,
    /another registrar holds the name/,
    /does not (renew|delete) the name: it shows/,
    /is restoring the name/,
    /no transfer of the name is (requested|pending)/,
    /another one is requested/,
    /the name has left the portfolio/,
    /your names .* use name servers below it/,
  ],
};

/** @returns the mistakes about orders, one sentence each */
export function judgeOrders(journal: readonly JournalEntry[], orders: readonly EndedOrder[]): string[] {
  const executed = journal.filter((entry) => entry.executed && entry.direction === "in");
  return orders.flatMap((order) => {
    const isExplained = explanations[order.status]?.some((pattern) => pattern.test(order.reason));
    const isRight = ["Finished", "Cancelled"].includes(order.status) || isExplained;
    const faults = isRight ? [] : [`${order.status} ${order.reason}`];
    const own = executed.filter(({ clTRID }) => clTRID?.startsWith(`${order.code}-`));
    return [...faults, ...judgePaid(order, own)].map((fault) => `${order.about} (${order.code}): ${fault}`);
  });
}

/** What each order of a kind that costs money executes when it is finished: no more, and never anything twice. */
const bought: Readonly<Record<string, readonly string[]>> = {
  renew: ["domain:renew"],
  delete: ["domain:delete"],
  restore: ["domain:restore-request", "domain:restore-report"],
};

function judgePaid(order: EndedOrder, own: readonly JournalEntry[]): string[] {
  const wanted = bought[order.kind];
  if (!wanted) return [];
  const operations = own.map(operationOf);
  const faults = wanted.flatMap((operation) => {
    const count = operations.filter((one) => one === operation).length;
    if (count > 1) return [`${operation} was executed ${count} times`];
    return order.status === "Finished" && count === 0 ? [`it is finished, and ${operation} was not executed`] : [];
  });
  const years = own.filter(({ command }) => command === "domain:renew").map(yearsOf);
  const isOther = years.some((bought) => bought !== order.years);
  return isOther ? [...faults, `${years} years were bought, and ${order.years} ordered`] : faults;
}

/** A restore is an update in the journal. */
function operationOf({ command = "", xml = "" }: JournalEntry): string {
  const restore = /<[^>]*restore[^>]* op="(\w+)"/.exec(xml)?.[1];
  return restore ? `domain:restore-${restore}` : command;
}

const yearsOf = ({ xml = "" }: JournalEntry) => Number(/period unit="y">(\d+)</.exec(xml)?.[1]);

/** @returns the mistakes about the names, one sentence each */
export async function judgeNames(evidence: Evidence, played: readonly PlayedName[]): Promise<string[]> {
  const { gateway, reseller } = evidence;
  const { body } = await gateway.send(reseller, "GET", "/domains/departures?take=100");
  const departures = body as ListedDeparture[];
  const faults: string[] = [];
  for (const one of played) {
    const own = departures.filter(({ domain_name }) => domain_name === one.name);
    const found = await judgeName(evidence, one, own);
    faults.push(...found.map((fault) => `${one.name}: ${fault}`));
  }
  return faults;
}

async function judgeName(evidence: Evidence, { name, exDate }: PlayedName, departures: ListedDeparture[]) {
  const { gateway, reseller, rivalId } = evidence;
  const { store } = gateway.registry;
  const domain = store.domains.find(name);
  const { status, body } = await gateway.send(reseller, "GET", `/domains/${name}`);
  const faults = differences(store, domain, status === 200 ? (body as PortfolioEntry) : undefined);
  const deletes = store.journal.entries({ name, command: "domain:delete", executed: true }).length;
  const isTaken = domain?.clID === rivalId;
  const left = deletes + (isTaken ? 1 : 0);
  if (departures.length !== left) faults.push(`it left ${left} times, and has ${departures.length} departures`);
  // The newest is the first.
  const [last] = departures;
  const isAway = isTaken || domain?.deletion !== undefined;
  if (isTaken && last?.gaining_registrar !== rivalId) faults.push(`it was transferred: ${JSON.stringify(last)}`);
  if (domain?.deletion && (last?.reason !== "deleted" || !last.restorable_until)) {
    faults.push(`it was deleted, and can be restored: ${JSON.stringify(last)}`);
  }
  if (!isAway && last?.restorable_until) faults.push(`it is here, and can be restored: ${JSON.stringify(last)}`);
  // A transfer adds a year, which is the other registrar's.
  const paidUntil = paidUntilOf(store.journal.entries({ name, executed: true }), exDate);
  if (domain?.clID === registrarId && domain.exDate !== paidUntil) {
    faults.push(`its exDate is ${domain.exDate}, and the executed commands make it ${paidUntil}`);
  }
  return [...faults, ...(await judgeSecrets(evidence, name))];
}

/** A delete takes back what was renewed just before (RFC 3915 §3.1). */
const paidUntilOf = (executed: readonly JournalEntry[], exDate: string) =>
  executed.reduce((date, entry) => {
    if (entry.command === "domain:delete") return exDate;
    return entry.command === "domain:renew" ? yearsLater(date, yearsOf(entry)) : date;
  }, exDate);

/** An auth code that can be read is the registry's, and the contacts that are shown are those of the registry's handles. */
async function judgeSecrets({ gateway, reseller }: Evidence, name: string): Promise<string[]> {
  const { store } = gateway.registry;
  const domain = store.domains.find(name);
  const code = await gateway.send(reseller, "GET", `/domains/${name}/auth-code`);
  const faults: string[] = [];
  const readable = (code.body as { auth_code?: string }).auth_code;
  if (code.status === 200 && readable !== domain?.authInfo) faults.push("the auth code is not the registry's");
  const { status, body } = await gateway.send(reseller, "GET", `/domains/${name}/contacts`);
  if (status !== 200 || domain?.registrant === undefined) return faults;
  const shown = (body as { registrant: { email: string } | null }).registrant?.email;
  const held = store.contacts.find(domain.registrant)?.email;
  return shown === held ? faults : [...faults, `the registrant is ${held}, and ${shown} here`];
}
