import type { Listener } from "#db/listener.ts";
import { waitAtMost } from "#lib/clock.ts";

/** Waiters of one process; one more is answered at once. */
const waitersMax = 5_000;
let waiters = 0;
/** How often a waiter reads without a notification: it may have been lost. */
const pollMs = 1_000;
/** All waiters of a process together read as often as this at most: twice the time costs less than a twentieth of a processor. */
const pollsPerSecondMax = 500;

const pollAgainMs = () => Math.max(pollMs, (waiters / pollsPerSecondMax) * 1_000);

export interface WaitOptions<Value> {
  read(): Promise<Value>;
  isAwaited(value: Value): boolean;
  /** When to read again, before the next poll, because this value can change without a notification. */
  lookAgainMs?(value: Value): number | undefined;
  waitMs: number;
  signal: AbortSignal;
}

/**
 * Reads until the awaited value appears or the time is over: after each notification that names it, after the LISTEN
 * connection was lost, because a notification may have been missed, and each second. Returns the last value read.
 * @param payload the notification's text that stands for this value
 */
export async function waitForNotification<Value>(
  { listener }: { listener: Listener },
  channel: string,
  payload: string,
  { read, isAwaited, lookAgainMs, waitMs, signal }: WaitOptions<Value>,
): Promise<Value> {
  if (waiters >= waitersMax) return read();
  waiters++;
  const until = AbortSignal.any([signal, AbortSignal.timeout(waitMs)]);
  let heard = Promise.withResolvers<void>();
  const wake = () => heard.resolve();
  const stopListening = listener.on(channel, (heardPayload) => {
    if (heardPayload === payload) wake();
  });
  const stopReconnects = listener.onReconnect(wake);
  try {
    for (;;) {
      const value = await read();
      if (until.aborted || isAwaited(value)) return value;
      await waitAtMost(Math.min(lookAgainMs?.(value) ?? waitMs, pollAgainMs()), heard.promise, until);
      heard = Promise.withResolvers<void>();
    }
  } finally {
    waiters--;
    stopListening();
    stopReconnects();
  }
}
