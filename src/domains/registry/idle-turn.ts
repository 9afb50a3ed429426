import type { RegistrySessions } from "#domains/registry/sessions.ts";
import { sleep } from "#lib/clock.ts";

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
