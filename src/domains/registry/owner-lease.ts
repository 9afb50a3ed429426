/**
 * The owner of a registry's sessions: its lease, as steps see it (src/jobs/registry-lease.ts acquires and renews it), and the SQL that
 * wakes it because rows of a machine are due (src/progress/engine.ts).
 */
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { rowDueChannel } from "#progress/engine.ts";

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
  `pg_notify('${rowDueChannel}', ${machine} || ':' || ${registryId})`;

/** SQL that wakes the machines of changed orders, and returns their number. @param rows SQL: a table with lane and registry_id */
export const wakeAll = (rows: string) =>
  `SELECT count(${wake("lane", "registry_id")}) AS notified FROM (SELECT DISTINCT lane, registry_id FROM ${rows}) AS changed`;
