/**
 * The owner before this one may live on: it has lost its connection, or hangs. What it has begun is left to it for as long as its
 * lease would have lasted, for it will still write down what its commands are answered. One that hangs is not waited for any
 * longer, but is an alarm.
 */
import { raiseAlarm, resolveAlarm } from "#alarms.ts";
import type { OwnerContext } from "#domains/registry/sessions.ts";
import { sleep } from "#lib/clock.ts";
import type { Liveness } from "#locks/liveness.ts";

/** Between two looks whether it is still at work. */
const pollMs = 250;
/** One that is only slow has ended its work by then: its statements are over (src/db/connection.ts). */
const endsMsMax = 15_000;
/** While it hangs, its alarm is raised again so often. */
const hangingMs = 60_000;

/** The lock of who works on a registry's changes. */
export const changesLock = (registryId: string) => `orders of ${registryId}`;

/** Resolves when it has ended, or its lease would have. Never throws. @param leaseMs how long that would have lasted yet */
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
        "it is not known whether the owner before this one is at work",
      );
    }
    await sleep(pollMs, ended);
  }
}

/** Raises an alarm while it hangs, and resolves what is open of one. Never throws. */
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
      // One that the owner before this one has raised may be open.
      if (holder === undefined) {
        await resolveAlarm(context, alarm);
        return;
      }
      if (clock.monotonicMs() > nextAlarmMs) {
        nextAlarmMs += hangingMs;
        const note = `the worker of ${holder} hangs: it has lost the lease of ${lease.registryId} to another one and does not end its work; kill it`;
        await raiseAlarm(context, { ...alarm, note });
      }
    } catch (error) {
      log.warn({ err: error, registry: lease.registryId }, "whether the owner before this one hangs is not known");
    }
    await sleep(pollMs, ended);
  }
}
