/**
 * What a delete removes before its command, and how the same order puts it back when the name stays, because
 * such a name needs its name servers. Like every other step, each of these takes its difference from fresh looks, so it may be repeated.
 */

import { lookAtHosts, type Renamed, showRename } from "#domains/kinds/subordinate-hosts.ts";
import type { Plan } from "#domains/orders/kind.ts";
import type { Order, Outcome } from "#domains/orders/order.ts";
import { withGlue } from "#domains/portfolio/rows.ts";
import type { Ask } from "#domains/registry/ask.ts";
import type { RegistrySessions } from "#domains/registry/sessions.ts";
import { addDays } from "#domains/registry/terms.ts";
import type { EppCommand } from "#registry/epp/command.ts";
import type { DomainInfo } from "#registry/epp/commands/domain/info.ts";
import { domainUpdate } from "#registry/epp/commands/domain/update.ts";
import { hostCreate } from "#registry/epp/commands/host/create.ts";
import type { HostInfo } from "#registry/epp/commands/host/info.ts";
import { hostUpdate } from "#registry/epp/commands/host/update.ts";

/** How long an order that stays open leaves the name servers in place before it removes them again. */
const restDays = 1;

/** `found` of a delete. All names of hosts are in lower case. */
export interface DeleteFound {
  /** What the name had before the first command. */
  before?: { delegated: string[]; hosts: { name: string; addresses: readonly string[] }[] } | undefined;
  /** The hosts that commands have renamed, or may have. */
  renamed?: Renamed[] | undefined;
  /** The name stays: what it had is put back. */
  stays?: (Refusal & { attemptsBefore: number; isSent?: boolean }) | undefined;
  /** Nothing is sent until then, or until the profile has another suffix for hosts. */
  rests?: (Refusal & { until: string; suffix: string | null }) | undefined;
}

interface Refusal {
  reason: string;
  /** An operator can help, so the order stays open. */
  isOperators: boolean;
}

export const foundOf = (order: Order) => order.found as DeleteFound;

/** What `before` of an order is, if nothing was taken away yet. */
export function before(order: Order, info: DomainInfo, hosts: readonly HostInfo[]): DeleteFound {
  const { before: known } = foundOf(order);
  const delegated = info.nameServers?.hosts.map(({ name }) => name.toLowerCase()) ?? [];
  return { before: known ?? { delegated, hosts: hosts.map(({ name, addresses }) => ({ name, addresses })) } };
}

/** Forgets what the name had: it is not ours, or nothing about it can be changed now. */
export function dropPutBack(order: Order): void {
  order.found = { ...foundOf(order), before: undefined, renamed: undefined, stays: undefined };
}

/** The plan of an order that cannot go on: whatever it took away comes back first. */
export function planToStay(
  sessions: RegistrySessions,
  order: Order,
  info: DomainInfo,
  ask: Ask,
  refusal: Refusal,
): Plan | Promise<Plan> {
  const found = foundOf(order);
  if (!found.before) return planOf(refusal);
  order.found = { ...found, stays: { ...refusal, attemptsBefore: order.attempts.length } };
  return planPutBack(sessions, order, info, ask);
}

const planOf = ({ reason, isOperators }: Refusal): Plan =>
  isOperators ? { is: "held", reason, operatorNote: reason + advice } : { is: "refused", as: "failed", reason };

const advice =
  "; set sacrificialSuffix in the registry's profile, or ask the registry, and settle the order if it cannot be done";

/** @returns the plan of an order that has put everything back, for as long as nothing has changed */
export function planOfRest({ context, profile }: RegistrySessions, order: Order): Plan | undefined {
  const { rests } = foundOf(order);
  if (!rests || rests.suffix !== (profile.sacrificialSuffix ?? null)) return undefined;
  return context.clock.now() < new Date(rests.until) ? planOf(rests) : undefined;
}

/** A refusal of the registry. @param command that was refused; undefined: what `<info>` shows forbids it */
export function refusedDelete(order: Order, refusal: Outcome, command?: string): Outcome {
  const found = foundOf(order);
  const { attempt, reason = "", operatorNote } = refusal;
  if (found.stays && attempt) {
    const both = `${found.stays.reason}; its name servers could not be put back: ${reason}`;
    return { ...refusal, event: "failed", reason: both, operatorNote: both };
  }
  const isOperators = command !== undefined && isHostInTheWay(command, attempt?.resultCode);
  if (!found.before && !found.stays && !isOperators) return refusal;
  if (!found.stays) {
    order.found = { ...found, stays: { reason, isOperators, attemptsBefore: order.attempts.length } };
    // The commands that follow have tries of their own.
    order.disputes = 0;
  }
  // What was shown lacks what comes back.
  return { ...refusal, event: attempt ? "not-executed" : "look-lost", shown: undefined, operatorNote };
}

/** RFC 5731 §3.2.2: the registry refuses the delete (2305), or what has to be done about a host before it. */
const isHostInTheWay = (command: string, code: number | null | undefined) =>
  command.startsWith("host:") || (command === "domain:delete" && code === 2305);

/** The next command that puts something back; at the end what the order was refused for. */
export async function planPutBack(sessions: RegistrySessions, order: Order, info: DomainInfo, ask: Ask): Promise<Plan> {
  const { before: had, stays, renamed = [] } = foundOf(order);
  if (!stays) throw new Error(`${order.order_code} has nothing to put back`);
  if (!had) return endOfStay(sessions, order, stays, stays.reason);
  const present = info.nameServers?.hosts.map(({ name }) => name.toLowerCase()) ?? [];
  const known = new Set([...had.delegated, ...renamed.map(({ to }) => to)]);
  if (present.some((host) => !known.has(host))) {
    return endOfStay(sessions, order, stays, `${stays.reason}; its name servers have been changed since`);
  }
  const seen = await lookAtHosts(ask, [...had.hosts.map(({ name }) => name), ...renamed.map(({ to }) => to)]);
  if (seen.is === "unknown") return seen;
  const there = new Map(seen.hosts.map((host) => [host.name, host]));
  const send = (command: EppCommand<unknown>): Plan => {
    const isNext = order.attempts.length === stays.attemptsBefore;
    return { is: "send", command, isNext, found: { stays: { ...stays, isSent: true } } };
  };
  for (const { from, to } of renamed) {
    if (!there.has(to)) continue;
    if (there.has(from)) return { is: "unknown", reason: `the registry shows both ${from} and ${to}` };
    const addresses = had.hosts.find(({ name }) => name === from)?.addresses ?? [];
    return send(hostUpdate({ name: to, newName: from, ...(addresses.length > 0 && { add: { addresses } }) }));
  }
  for (const { from, to } of renamed) await showRename(sessions, order, { from: to, to: from });
  const missing = had.hosts.find(({ name }) => !there.has(name));
  if (missing) return send(hostCreate(missing));
  const hosts = had.delegated.filter((host) => !present.includes(host)).map((name) => ({ name, addresses: [] }));
  if (hosts.length > 0) {
    return send(domainUpdate({ name: order.domain_name, add: { nameServers: { hostModel: "objects", hosts } } }));
  }
  const glue = new Map(had.hosts.map(({ name, addresses }) => [name, addresses]));
  if (order.shown) order.shown = withGlue(order.shown, order.domain_name, glue);
  const reason = stays.isSent ? `${stays.reason}; its name servers have been put back` : stays.reason;
  return endOfStay(sessions, order, stays, reason);
}

function endOfStay({ context, profile }: RegistrySessions, order: Order, stays: Refusal, reason: string): Plan {
  const refusal = { reason, isOperators: stays.isOperators };
  const until = addDays(context.clock.now(), restDays).toISOString();
  const rests = { ...refusal, until, suffix: profile.sacrificialSuffix ?? null };
  order.found = { ...foundOf(order), before: undefined, renamed: undefined, stays: undefined, rests };
  return planOf(refusal);
}
