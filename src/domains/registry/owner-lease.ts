/**
 * The lease under which a process owns a registry's sessions, as the steps of orders and renewals see it. How it is taken and
 * kept is in src/jobs/registry-lease.ts.
 */
import type { Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";

export interface OwnerLease {
  readonly registryId: string;
  /** Counts the owners of the registry. */
  readonly epoch: number;
  /** Whether this process may send just now. Once it says no, it never says yes again. */
  isHeld(): boolean;
  /** How long ago this owner took over, in real time. */
  heldMs(): number;
}

/** This process does not own the registry any more: whatever it was about to begin is its successor's. */
export class LeaseLost extends Error {
  override name = "LeaseLost";
  constructor({ registryId, epoch }: Pick<OwnerLease, "registryId" | "epoch">) {
    super(`this process does not own ${registryId} any more: its epoch ${epoch} is over`);
  }
}

/** SQL: whether the epoch is that of the registry's present owner. Both are SQL. */
export const isPresentEpoch = (registryId: string, epoch: string) =>
  `EXISTS (SELECT FROM registry_leases AS lease WHERE lease.registry_id = ${registryId} AND lease.epoch = ${epoch})`;

/** SQL: the same, and its lease has not expired either: then an attempt may begin. */
export const mayBegin = (registryId: string, epoch: string) =>
  `EXISTS (SELECT FROM registry_leases AS lease
     WHERE lease.registry_id = ${registryId} AND lease.epoch = ${epoch} AND lease.expires_at > now())`;

const currentLease = statement("registry-lease-current", `SELECT ${mayBegin("$1::text", "$2::int8")} AS is_current`, {
  is_current: "bool",
});

/**
 * To be called when the database has refused something: the lease may be why.
 * @throws LeaseLost when it is over
 */
export async function assertLeaseStands(
  database: Pick<Transaction, "query">,
  lease: OwnerLease | undefined,
): Promise<void> {
  if (!lease) return;
  const [row] = await database.query(currentLease, [lease.registryId, lease.epoch]);
  if (!row?.is_current) throw new LeaseLost(lease);
}

/**
 * How much longer an owner has to wait until it may repeat a command that an owner before it may have sent. A frame of that
 * one may still be on its way: written before it knew that it had lost the lease, or held back by the network.
 */
export function lateFrameMs(lease: OwnerLease, takeoverSettleMs: number): number {
  return Math.max(0, takeoverSettleMs - lease.heldMs());
}
