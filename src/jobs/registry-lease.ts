/**
 * A registry's owner holds a lease by the database's time, and renews it every few seconds. It stops by its own clocks some
 * seconds before the lease is over: so its successor does not begin while it sends, whatever keeps the two from talking.
 * docs/decisions/0007-ownership-is-a-lease.md says what that leaves open, and what closes it.
 */
import type { Client } from "pg";
import type { OwnerLease } from "#domains/registry/owner-lease.ts";
import { type Clock, sleep, systemClock, waitAtMost } from "#lib/clock.ts";
import { processName } from "#locks/process-name.ts";

const leaseMs = 10_000;
const renewEveryMs = 3_000;
/** An owner stops so long before its lease is over: for clocks that run unequally, and for what is on its way to its socket. */
const earlyMs = 3_000;
/** An owner that lets go says so, if its connection still answers. */
const releaseMsMax = 1_000;

// Who has the registry's advisory lock may take the lease, also one that has not expired: the connection of its holder has ended.
// One that was yielded is for the worker that it was yielded to, if that comes soon.
const takeSql = `
  WITH before AS (SELECT expires_at FROM registry_leases WHERE registry_id = $1)
  INSERT INTO registry_leases AS lease (registry_id, epoch, holder, since, expires_at, lock_pid, lock_started_at)
  SELECT $1, 1, $2, now(), now() + interval '${leaseMs} milliseconds', pid, backend_start
  FROM pg_stat_activity WHERE pid = pg_backend_pid()
  ON CONFLICT (registry_id) DO UPDATE SET epoch = lease.epoch + 1, holder = excluded.holder, since = excluded.since,
    expires_at = excluded.expires_at, lock_pid = excluded.lock_pid, lock_started_at = excluded.lock_started_at,
    yielded_to = NULL
  WHERE lease.yielded_to IS NULL OR lease.yielded_to = excluded.lock_pid
    OR lease.yielded_at < now() - interval '${leaseMs} milliseconds'
  RETURNING epoch, (SELECT extract(epoch FROM expires_at - now()) * 1000 FROM before) AS predecessor_ms`;

const renewSql = `
  UPDATE registry_leases SET expires_at = now() + interval '${leaseMs} milliseconds'
  WHERE registry_id = $1 AND epoch = $2`;

const releaseSql = `
  UPDATE registry_leases SET expires_at = now(), yielded_at = CASE WHEN yielded_to IS NULL THEN yielded_at ELSE now() END
  WHERE registry_id = $1 AND epoch = $2`;

/** The lease of this process, with what its owner's role does about it. */
export interface HeldLease extends OwnerLease {
  /** How long the owner before this one may still write down answers: until its lease would have ended. */
  readonly predecessorMs: number;
  /** Fires when the lease is over for this process, for whatever reason: then nothing new is sent. */
  readonly lost: AbortSignal;
  /** How long answers may still be waited for. */
  msLeft(): number;
  /** The connection with the lock has gone: somebody else may own the registry soon. */
  lose(): void;
  /** The same, and no answer is waited for. */
  abandon(): void;
  /** Renews it until `ended`, or until it is lost. Never throws. */
  keep(ended: AbortSignal): Promise<void>;
  /** Lets others take it at once, if that can be said. Never throws. */
  release(): Promise<void>;
}

interface Time {
  wallMs: number;
  monotonicMs: number;
}

/**
 * Takes the lease for the owner of the registry's advisory lock.
 * @param client its connection, which holds that lock
 * @param clock the machine's own. A test that moves a context's time lets days pass for orders, and not for this process
 * @returns nothing when it was yielded to another worker
 * @throws the driver's error
 */
export async function takeLease(
  client: Client,
  registryId: string,
  clock: Clock = systemClock,
): Promise<HeldLease | undefined> {
  const now = (): Time => ({ wallMs: clock.now().getTime(), monotonicMs: clock.monotonicMs() });
  const takenAt = now();
  const { rows } = await client.query<{ epoch: string; predecessor_ms: string | null }>(takeSql, [
    registryId,
    processName,
  ]);
  const [taken] = rows;
  if (!taken) return undefined;
  const epoch = Number(taken.epoch);
  const lost = new AbortController();
  // Counted from before the statement was sent: the database counts from later.
  let renewedAt = takenAt;

  // By both clocks: one stands still while the machine sleeps, the other may be set back.
  const msLeft = () => {
    const { wallMs, monotonicMs } = now();
    const passedMs = Math.max(wallMs - renewedAt.wallMs, monotonicMs - renewedAt.monotonicMs);
    return Math.max(0, leaseMs - earlyMs - passedMs);
  };
  const lose = () => lost.abort();
  const isHeld = () => {
    if (!lost.signal.aborted && msLeft() === 0) lose();
    return !lost.signal.aborted;
  };

  async function renew(ended: AbortSignal): Promise<void> {
    const sentAt = now();
    let isRenewed = false;
    const answer = client.query(renewSql, [registryId, epoch]).then(
      ({ rowCount }) => {
        isRenewed = rowCount === 1;
      },
      () => {},
    );
    await waitAtMost(msLeft(), answer, ended);
    if (isRenewed && isHeld()) renewedAt = sentAt;
    else if (!ended.aborted) lose();
  }

  return {
    registryId,
    epoch,
    predecessorMs: Math.max(0, Number(taken.predecessor_ms ?? 0)),
    lost: lost.signal,
    isHeld,
    msLeft,
    lose,
    heldMs: () => clock.monotonicMs() - takenAt.monotonicMs,
    abandon() {
      renewedAt = { wallMs: Number.NEGATIVE_INFINITY, monotonicMs: Number.NEGATIVE_INFINITY };
      lose();
    },
    async keep(ended) {
      const over = AbortSignal.any([ended, lost.signal]);
      while (!over.aborted) {
        await sleep(renewEveryMs - (clock.monotonicMs() - renewedAt.monotonicMs), over);
        if (!over.aborted) await renew(over);
      }
    },
    async release() {
      const released = client.query(releaseSql, [registryId, epoch]).catch(() => {});
      await waitAtMost(releaseMsMax, released);
    },
  };
}
