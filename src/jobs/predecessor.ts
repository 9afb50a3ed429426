/**
 * The previous session holder may still be running: it has lost its connection, or hangs. For as long as the previous lease
 * would have lasted, the new holder does not touch the changes in progress, because the previous one still records the answers
 * to its commands. It waits no longer than that for a process that hangs, and raises an alarm.
 */
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import type { OwnerContext } from "#domains/registry/sessions.ts";
import { sleep } from "#lib/clock.ts";
import type { Liveness } from "#locks/liveness.ts";

const pollMs = 250;
/** A slow process has ended its work by then, because its statements time out (src/db/connection.ts). */
const endsMsMax = 15_000;
/** How often the alarm is raised again while the process hangs. */
const hangingMs = 60_000;

/** The liveness lock of every process that works on a registry's changes. */
export const changesLock = (registryId: string) => `orders of ${registryId}`;

/**
 * Waits until the previous session holder has finished its work. Never throws. @param leaseMs the longest wait: what is left of
 * its lease
 */
export async function awaitPredecessor(
  { clock, lease, log }: OwnerContext,
  liveness: Pick<Liveness, "findElsewhere">,
  leaseMs: number,
  ended: AbortSignal,
): Promise<void> {
  const untilMs = clock.monotonicMs() + leaseMs;
  while (!ended.aborted && clock.monotonicMs() < untilMs) {
    try {
      if ((await liveness.findElsewhere(changesLock(lease.registryId))) === undefined) return;
    } catch (error) {
      log.warn(
        { err: error, registry: lease.registryId },
        "cannot determine whether the previous session holder still works",
      );
    }
    await sleep(pollMs, ended);
  }
}

/** Raises an alarm while the previous session holder hangs, and resolves it afterwards. Never throws. */
export async function watchPredecessor(
  context: OwnerContext,
  liveness: Pick<Liveness, "findElsewhere">,
  ended: AbortSignal,
): Promise<void> {
  const { clock, lease, log } = context;
  const alarm = { kind: "worker-stuck", subject: lease.registryId } as const;
  let nextAlarmMs = clock.monotonicMs() + endsMsMax;
  while (!ended.aborted) {
    try {
      const holder = await liveness.findElsewhere(changesLock(lease.registryId));
      // The previous session holder may have raised one.
      if (holder === undefined) {
        await resolveAlarm(context, alarm);
        return;
      }
      if (clock.monotonicMs() > nextAlarmMs) {
        nextAlarmMs += hangingMs;
        const note = `the worker of ${holder} hangs: it has lost the lease of ${lease.registryId} to another worker and does not stop; kill it`;
        await raiseAlarm(context, { ...alarm, note });
      }
    } catch (error) {
      log.warn(
        { err: error, registry: lease.registryId },
        "cannot determine whether the previous session holder hangs",
      );
    }
    await sleep(pollMs, ended);
  }
}
