/**
 * What the owner of a registry's sessions has: its lease, as steps see it (src/jobs/registry-lease.ts acquires and renews it), its
 * sessions, and how long its steps wait. The SQL that wakes it, because rows of a machine are due, is for other processes.
 */
import type { Context } from "#context.ts";
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { sleep } from "#lib/clock.ts";
import type { SerialQueue } from "#lib/queues/serial-queue.ts";
import { rowDueChannel } from "#progress/engine.ts";
import type { EppPool } from "#registry/epp/pool/pool.ts";
import { TokenBucket } from "#registry/epp/pool/token-bucket.ts";
import type { RegistryProfile } from "#registry/registries.ts";

export interface OwnerLease {
  readonly registryId: string;
  /** Counts the owners of the registry. */
  readonly epoch: number;
  /** Whether this process may send now. Once false, it stays false. */
  isHeld(): boolean;
  /** How long ago this owner took over, in real time. */
  heldMs(): number;
}

/** This process no longer owns the registry: its successor continues what it was about to begin. */
export class LeaseLost extends Error {
  override name = "LeaseLost";
  constructor({ registryId, epoch }: Pick<OwnerLease, "registryId" | "epoch">) {
    super(`this process no longer owns ${registryId}: its epoch ${epoch} is over`);
  }
}

/** SQL: whether the epoch is that of the registry's current owner. Both arguments are SQL. */
export const isPresentEpoch = (registryId: string, epoch: string) =>
  `EXISTS (SELECT FROM registry_leases AS lease WHERE lease.registry_id = ${registryId} AND lease.epoch = ${epoch})`;

/** SQL: the same, and the lease has not expired: an attempt may begin. */
export const mayBegin = (registryId: string, epoch: string) =>
  `EXISTS (SELECT FROM registry_leases AS lease
     WHERE lease.registry_id = ${registryId} AND lease.epoch = ${epoch} AND lease.expires_at > now())`;

const currentLease = statement(
  "registry-lease-current",
  `SELECT ${mayBegin("$registry_id::text", "$epoch::int8")} AS is_current` as string,
  { is_current: "bool" },
);

/** To be called when the database has refused a write: the lease may be the cause. @throws LeaseLost when it is over */
export async function assertLeaseStands(
  database: Pick<Transaction, "query">,
  lease: OwnerLease | undefined,
): Promise<void> {
  if (!lease) return;
  const [row] = await database.query(currentLease, { registry_id: lease.registryId, epoch: lease.epoch });
  if (!row?.is_current) throw new LeaseLost(lease);
}

/**
 * How much longer an owner must wait before it may repeat a command of an earlier owner. A frame of that owner may still be on
 * its way: written before it noticed that it had lost the lease, or delayed by the network.
 */
export function lateFrameMs(lease: OwnerLease, takeoverSettleMs: number): number {
  return Math.max(0, takeoverSettleMs - lease.heldMs());
}

/** Orders of different lanes do not wait for each other. The column `lane` of `orders` says which one an order is in. */
export type Lane = "registration" | "urgent" | "value" | "schedule";

/** The name of a registry's machine, in notifications and logs. */
export const machineName = (machine: Lane | "renewal", registryId: string) => `${machine}:${registryId}`;

/** SQL that wakes one machine of a registry. @param machine SQL @param registryId SQL */
export const wake = (machine: string, registryId: string) =>
  `notify_after_commit('${rowDueChannel}', ${machine} || ':' || ${registryId})`;

/** SQL that wakes the machines of changed orders, and returns their number. @param rows SQL: a table with lane and registry_id */
export const wakeAll = (rows: string) =>
  `SELECT count(${wake("lane", "registry_id")}) AS notified FROM (SELECT DISTINCT lane, registry_id FROM ${rows}) AS changed`;

/** The context of the owner's steps: what they begin and decide counts only under its lease. */
export interface OwnerContext extends Context {
  lease: OwnerLease;
}

/** What the owner of a registry's sessions works with. */
export interface RegistrySessions {
  context: OwnerContext;
  profile: RegistryProfile;
  pool: EppPool;
  /** Contacts of resellers' profiles that the registry holds, by reseller and role, with the version of the profile. */
  contacts: Map<string, { version: string; id: string }>;
  /** Ids of contacts that are being deleted: no order uses them, even if it has found them before. */
  leavingContacts: Set<string>;
  /** Names with a step in progress. */
  names: Map<string, { queue: SerialQueue; users: number }>;
  /** The share of the registry's rate for looks without haste. */
  lookLane: TokenBucket;
  /** How many creates were answered with 1000 since this process has owned the registry, and whether one has paused them for credit. */
  creates: { done: number; isOutOfCredit: boolean };
  /** Contacts that are being created under ids that the registry chooses, by digest and role. */
  contactsBeingMade: Map<string, Promise<unknown>>;
  /** The run that reads the registry's messages, and the one after it. */
  messageRuns: { now: Promise<unknown>; next: Promise<boolean> | undefined };
  /** Reads the registry's messages until there are none; returns whether it was read to its end. */
  drainMessages(): Promise<boolean>;
  /** A clTRID for a query; attempts have their clTRIDs from their rows. */
  queryClTrid(): string;
}

/** How long a step waits for a free session before it retries later. */
export const sessionWaitMs = 5_000;
/** The most of `commandsPerSecond` that looks without haste use. */
const lookShare = 0.1;

/** What a process has that has just become the owner. */
export function newSessions(
  context: OwnerContext,
  profile: RegistryProfile,
  pool: EppPool,
  {
    drainMessages,
    lookClock = context.clock,
  }: { drainMessages(sessions: RegistrySessions): Promise<boolean>; lookClock?: Context["clock"] },
): RegistrySessions {
  const sessions: RegistrySessions = {
    context,
    profile,
    pool,
    contacts: new Map(),
    leavingContacts: new Set(),
    names: new Map(),
    lookLane: new TokenBucket(profile.commandsPerSecond * lookShare, lookClock),
    creates: { done: 0, isOutOfCredit: false },
    contactsBeingMade: new Map(),
    messageRuns: { now: Promise.resolve(), next: undefined },
    drainMessages: () => drainMessages(sessions),
    queryClTrid: () => `Q-${context.random.bytes(9).toString("base64url")}`,
  };
  return sessions;
}

/** How often an order retries that waits for an operator. */
export const operatorRetryMs = 15 * 60_000;
/** The same for a renewal and its orders: they have weeks. */
export const attentionRetryMs = 60 * 60_000;

/** The longest that a step waits, except for a term's end, a schedule and announced maintenance. */
export function longestWaitMs(profile: RegistryProfile): number {
  const { backoffMaxMs, reconcileIntervalMs, settleMs, takeoverSettleMs } = profile;
  return Math.max(backoffMaxMs, reconcileIntervalMs, settleMs, takeoverSettleMs, operatorRetryMs, attentionRetryMs);
}

/** How long to wait before asking again whether sessions are idle. */
const busyPauseMs = 1_000;

/** Waits for the lane of lookups without haste, and until no other work needs the sessions. @returns false when the work has ended */
export async function awaitIdleTurn({ lookLane, pool }: RegistrySessions, ended: AbortSignal): Promise<boolean> {
  const { promise: whenEnded, resolve } = Promise.withResolvers<false>();
  const end = () => resolve(false);
  ended.addEventListener("abort", end, { once: true });
  try {
    const isTurn = await Promise.race([lookLane.take({ isWanted: () => !ended.aborted }), whenEnded]);
    while (!ended.aborted && !pool.isIdle()) await sleep(busyPauseMs, ended);
    return isTurn && !ended.aborted;
  } finally {
    ended.removeEventListener("abort", end);
  }
}
