/**
 * The kinds of orders about registered names. An entry says which commands an order sends, and what its end looks like at the
 * registry; faults, kill points and judge follow from it.
 */
import assert from "node:assert/strict";
import type { KindName } from "#domains/orders/order.ts";
import type { CommandFault } from "../../sandbox/registry/faults.ts";
import type { Domain } from "../../sandbox/registry/objects.ts";
import type { Store } from "../../sandbox/registry/store.ts";
import { ada } from "../harness/contacts.ts";
import type { TestGateway, TestReseller } from "../harness/gateway.ts";
import { yearsLater } from "../renewals/stage.ts";
import type { KindCommand } from "./kill-points.ts";
import type { Ending, Fault, Reach } from "./labels.ts";

/** A name at the registry. */
export interface Held {
  store: Store;
  name: string;
  /** Absent: the registry does not have it. */
  domain: Domain | undefined;
}

export interface ChangeKind {
  /** The kind, or what it orders where a kind has several entries. */
  id: string;
  kind: Exclude<KindName, "create">;
  /** In the order in which they are sent. */
  commands: readonly KindCommand[];
  /** At most one execution of each of its commands may stand. Setting a value twice does no harm. */
  isOnce: boolean;
  /** What happened to the name before. */
  prepare?(gateway: TestGateway, reseller: TestReseller, name: string): Promise<void>;
  request(domain: Domain): { method: "PUT" | "POST" | "DELETE"; target: string; body?: object };
  /** Whether the registry shows what was ordered. @param before the name before the order */
  isDone(held: Held, before: Domain): boolean;
  /** Faults whose ends are not the usual ones; an empty list: an order of this kind cannot have this fault. */
  ends?: Readonly<Record<string, readonly Ending[]>>;
}

const lock = "clientTransferProhibited";
const glue = "9.9.9.9";
const hostBelow = (name: string) => `ns1.${name}`;
const digest = "AB".repeat(32);

const askForTransfer: ChangeKind["prepare"] = ({ registry }, _reseller, name) =>
  registry.transfer({ name, op: "request" });

const giveUp: ChangeKind["prepare"] = async (gateway, reseller, name) => {
  const { headers } = await gateway.send(reseller, "DELETE", `/domains/${name}?confirm=${name}`);
  assert.equal((await gateway.settled(reseller, headers.location ?? "")).status, "Finished", name);
};

/** It is answered, and `<transfer op="query">` shows the end: until then the order looks, and a day later it calls an operator. */
const endsOfAnswers = { "pending-deny": [], "pending-never": [] };

export const changeKinds: readonly ChangeKind[] = [
  {
    id: "auth-code",
    kind: "auth-code",
    commands: [{ name: "domain:update" }],
    isOnce: false,
    request: ({ name }) => ({ method: "POST", target: `/domains/${name}/auth-code` }),
    isDone: ({ domain }, before) => domain?.authInfo !== before.authInfo,
  },
  {
    id: "contacts",
    kind: "contacts",
    // The contact that the orders of one reseller share is created by whichever comes first.
    commands: [{ name: "domain:update" }],
    isOnce: true,
    request: ({ name }) => ({ method: "PUT", target: `/domains/${name}/contacts`, body: { registrant: ada } }),
    isDone: ({ store, domain }) => store.contacts.find(domain?.registrant ?? "")?.email === ada.email,
  },
  {
    id: "delete",
    kind: "delete",
    commands: [{ name: "domain:delete" }],
    isOnce: true,
    request: ({ name }) => ({ method: "DELETE", target: `/domains/${name}?confirm=${name}` }),
    isDone: ({ domain }) => domain === undefined || domain.deletion !== undefined,
    // 1001 says that the deletion has begun.
    ends: { "pending-approve": [], "pending-deny": [], "pending-lost": [], "pending-never": [] },
  },
  {
    id: "dnssec",
    kind: "dnssec",
    commands: [{ name: "domain:update" }],
    isOnce: true,
    request: ({ name }) => ({
      method: "PUT",
      target: `/domains/${name}/dnssec`,
      body: { ds: [{ key_tag: 4711, algorithm: 13, digest_type: 2, digest }] },
    }),
    isDone: ({ domain }) => domain?.security?.dsData.some((record) => record.digest === digest) ?? false,
  },
  {
    id: "nameservers",
    kind: "nameservers",
    commands: [{ name: "host:create", about: hostBelow }, { name: "domain:update" }],
    isOnce: true,
    request: ({ name }) => ({
      method: "PUT",
      target: `/domains/${name}/nameservers`,
      body: { name_servers: [{ name: hostBelow(name), addresses: [glue] }] },
    }),
    isDone: ({ store, name, domain }) =>
      store.hosts.find(hostBelow(name))?.addresses[0]?.address === glue &&
      domain?.delegation?.servers[0]?.name === hostBelow(name),
  },
  {
    id: "renew",
    kind: "renew",
    commands: [{ name: "domain:renew" }],
    isOnce: true,
    request: ({ name, exDate }) => ({
      method: "POST",
      target: `/domains/${name}/renewals`,
      body: { years: 1, expiration_date: exDate },
    }),
    isDone: ({ domain }, before) => domain?.exDate === yearsLater(before.exDate, 1),
  },
  {
    id: "restore",
    kind: "restore",
    commands: [{ name: "domain:restore-request" }, { name: "domain:restore-report" }],
    isOnce: true,
    prepare: giveUp,
    request: ({ name }) => ({ method: "POST", target: `/domains/${name}/restores` }),
    isDone: ({ domain }) => domain !== undefined && domain.deletion === undefined,
    ends: endsOfAnswers,
  },
  {
    id: "transfer-approve",
    kind: "transfer-answer",
    commands: [{ name: "domain:transfer-approve" }],
    isOnce: true,
    prepare: askForTransfer,
    request: ({ name }) => ({ method: "POST", target: `/domains/${name}/transfer-out`, body: { answer: "approve" } }),
    isDone: ({ domain }) => domain?.transfer?.status === "clientApproved",
    ends: endsOfAnswers,
  },
  {
    id: "transfer-reject",
    kind: "transfer-answer",
    commands: [{ name: "domain:transfer-reject" }],
    isOnce: true,
    prepare: askForTransfer,
    request: ({ name }) => ({
      method: "POST",
      target: `/domains/${name}/transfer-out`,
      body: { answer: "reject", reason: "unpaid" },
    }),
    isDone: ({ domain }) => domain?.transfer?.status === "clientRejected",
    ends: endsOfAnswers,
  },
  {
    id: "transfer-lock",
    kind: "transfer-lock",
    commands: [{ name: "domain:update" }],
    isOnce: true,
    request: ({ name }) => ({
      method: "PUT",
      target: `/domains/${name}/transfer-lock`,
      body: { transfer_locked: true },
    }),
    isDone: ({ domain }) => domain?.statuses.includes(lock) ?? false,
  },
];

interface ChangeFault {
  effect?: Omit<CommandFault, "command" | "name">;
  reach: Reach;
  ends: readonly Ending[];
}

const once = (code: number): ChangeFault => ({
  effect: { as: "refuse", code, times: 1 },
  reach: "create",
  ends: ["Finished"],
});
const always = (code: number, end: Ending): ChangeFault => ({
  effect: { as: "refuse", code },
  reach: "create",
  ends: [end],
});
const spoiled = (as: CommandFault["as"], reach: Reach): ChangeFault => ({
  effect: { as, times: 1 },
  reach,
  ends: ["Finished"],
});
const pending = (decision: CommandFault["decision"], end: Ending): ChangeFault => ({
  effect: { as: "pending", decision },
  reach: "object",
  ends: [end],
});

/** What happens to each command of an order; only the last one can be pending. */
export const changeFaults: Readonly<Record<string, ChangeFault>> = {
  plain: { reach: "object", ends: ["Finished"] },
  "drop-after": spoiled("drop-after", "object"),
  "drop-before": spoiled("drop-before", "create"),
  garbage: spoiled("garbage", "object"),
  trid: spoiled("trid", "object"),
  short: spoiled("short", "object"),
  late: spoiled("late", "object"),
  "once-2104": once(2104),
  "once-2306": once(2306),
  "once-2400": once(2400),
  "code-2304": always(2304, "Errors"),
  "code-2306": always(2306, "FailedValidation"),
  "pending-approve": pending("approve", "Finished"),
  "pending-deny": pending("deny", "Errors"),
  "pending-lost": pending("lose", "Finished"),
  "pending-never": pending("never", "Pending"),
};

/** The beginning of the names whose orders are of this kind, and have this fault. No label of the sandbox registry begins so. */
const labelOf = (kind: ChangeKind, fault: string) => `of-${kind.id}-${fault}-`;

/** The faults of a kind's orders. */
export function faultsOf(kind: ChangeKind): Fault[] {
  return Object.entries(changeFaults).flatMap(([id, { reach, ends }]) => {
    const own = kind.ends?.[id] ?? ends;
    return own.length === 0 ? [] : [{ label: labelOf(kind, id), reach, ends: own }];
  });
}

/** The faults of the commands about a name, for the sandbox registry. */
export function commandFaultsOf(kind: ChangeKind, name: string): CommandFault[] {
  const ids = Object.keys(changeFaults).filter((id) => name.startsWith(labelOf(kind, id)));
  return ids.flatMap((id) => {
    const { effect } = changeFaults[id]!;
    if (!effect) return [];
    const spoilt = effect.as === "pending" ? kind.commands.slice(-1) : kind.commands;
    return spoilt.map(({ name: command, about = (of) => of }) => ({ ...effect, command, name: about(name) }));
  });
}
