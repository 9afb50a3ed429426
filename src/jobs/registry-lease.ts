/**
 * A registry's session holder has a lease that expires by the database's time, and renews it every few seconds. By its local
 * clocks it stops some seconds before the lease expires, so its successor never begins while it still sends, even when the two
 * cannot reach each other. docs/decisions/0007-ownership-is-a-lease.md says which gaps remain and how they are closed.
 */
import type { Client } from "pg";
import { timelineNow } from "#db/timeline.ts";
import type { OwnerLease } from "#domains/registry/sessions.ts";
import { type Clock, sleep, systemClock, waitAtMost } from "#lib/clock.ts";
import { processName } from "#locks/process-name.ts";

const leaseMs = 10_000;
const renewEveryMs = 3_000;
/**
 * A session holder stops this long before its lease expires: clocks run at different speeds, and a frame may be on its way out.
 */
const earlyMs = 3_000;
/** How long a session holder tries to release its lease. */
const releaseMsMax = 1_000;

/** A promoted standby lacks this many takeovers of the old primary at most. */
const lostTakeoversMax = 1_000;

// A promoted standby knows the lease and not the lock: a lock that is free there says nothing about the previous holder.
const leaseFromBeforeSql = `
  SELECT extract(epoch FROM expires_at - now())::float8 * 1000 AS left_ms FROM registry_leases
  WHERE registry_id = $1 AND timeline <> ${timelineNow} AND expires_at > now()`;
/** Those who wait for the lock end the connection of a holder that does nothing with it for ten seconds. */
const lookEveryMs = 1_000;

// The holder of the registry's advisory lock may take the lease even before it expires: the previous holder's connection has
// ended. A yielded lease is reserved for one worker for a short time. A standby that lacked commits when it was promoted may have lost
// epochs, which must not be given to others.
const takeSql = `
  WITH before AS (SELECT expires_at FROM registry_leases WHERE registry_id = $1)
  INSERT INTO registry_leases AS lease (registry_id, epoch, holder, since, expires_at, lock_pid, lock_started_at, timeline)
  SELECT $1, 1, $2, now(), now() + interval '${leaseMs} milliseconds', pid, backend_start, ${timelineNow}
  FROM pg_stat_activity WHERE pid = pg_backend_pid()
  ON CONFLICT (registry_id) DO UPDATE SET
    epoch = lease.epoch + CASE WHEN lease.timeline <> excluded.timeline THEN ${lostTakeoversMax} ELSE 1 END,
    holder = excluded.holder, since = excluded.since, expires_at = excluded.expires_at, lock_pid = excluded.lock_pid,
    lock_started_at = excluded.lock_started_at, timeline = excluded.timeline, yielded_to = NULL
  WHERE lease.yielded_to IS NULL OR lease.yielded_to = excluded.lock_pid
    OR lease.yielded_at < now() - interval '${leaseMs} milliseconds'
  RETURNING epoch, (SELECT extract(epoch FROM expires_at - now()) * 1000 FROM before) AS predecessor_ms`;

const renewSql = `
  UPDATE registry_leases SET expires_at = now() + interval '${leaseMs} milliseconds'
  WHERE registry_id = $1 AND epoch = $2`;

const releaseSql = `
  UPDATE registry_leases SET expires_at = now(), yielded_at = CASE WHEN yielded_to IS NULL THEN yielded_at ELSE now() END
  WHERE registry_id = $1 AND epoch = $2`;

/** The lease of this process, for the role that holds it. */
export interface HeldLease extends OwnerLease {
  /** How long the previous session holder may still record answers: until its lease would have expired. */
  readonly predecessorMs: number;
  /** Fires when this process loses the lease, for any reason. After that nothing new is sent. */
  readonly lost: AbortSignal;
  /** How long this process may still wait for answers. */
  msLeft(): number;
  /** Gives the lease up because the connection with the lock is gone: another process may soon hold the registry's sessions. */
  lose(): void;
  /** As `lose`, without waiting for answers. */
  abandon(): void;
  /** Renews the lease until `ended`, or until it is lost. Never throws. */
  keep(ended: AbortSignal): Promise<void>;
  /** Lets others take the lease at once, if the database can be reached. Never throws. */
  release(): Promise<void>;
}

interface Time {
  wallMs: number;
  monotonicMs: number;
}

/** Waits for the end of a lease that was taken before a failover. @throws the driver's error */
async function outliveLeaseFromBefore(client: Client, registryId: string): Promise<void> {
  for (;;) {
    const { rows } = await client.query<{ left_ms: number }>(leaseFromBeforeSql, [registryId]);
    if (!rows[0]) return;
    await sleep(Math.min(rows[0].left_ms, lookEveryMs));
  }
}

/**
 * Takes the registry's lease, after the end of one from before a failover.
 * @param client the connection that holds the registry's advisory lock
 * @param clock the system's clock: a test that moves the context's clock lets days pass for orders, but not for this process
 * @returns undefined when the lease is reserved for another worker
 * @throws the driver's error
 */
export async function takeLease(
  client: Client,
  registryId: string,
  clock: Clock = systemClock,
): Promise<HeldLease | undefined> {
  const now = (): Time => ({ wallMs: clock.now().getTime(), monotonicMs: clock.monotonicMs() });
  await outliveLeaseFromBefore(client, registryId);
  const takenAt = now();
  const parameters = [registryId, processName];
  const { rows } = await client.query<{ epoch: string; predecessor_ms: string | null }>(takeSql, parameters);
  const [taken] = rows;
  if (!taken) return undefined;
  const epoch = Number(taken.epoch);
  const lost = new AbortController();
  // Counted from before the statement is sent; the database starts to count later.
  let renewedAt = takenAt;

  // By both clocks: the monotonic one stands still while the system sleeps, the wall clock may be set back.
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
