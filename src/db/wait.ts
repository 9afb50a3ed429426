import type { Listener } from "#db/listener.ts";
import { waitAtMost } from "#lib/clock.ts";

/** Waiters of one process; one more is answered at once. */
const waitersMax = 5_000;
let waiters = 0;

export interface WaitOptions<Value> {
  read(): Promise<Value>;
  isAwaited(value: Value): boolean;
  /** When to read again, because this value can change without a notification. */
  lookAgainMs?(value: Value): number | undefined;
  waitMs: number;
  signal: AbortSignal;
}

/**
 * Reads until the awaited value appears or the time is over: after each notification that names it, and after the
 * LISTEN connection was lost, because a notification may have been missed. Returns the last value read.
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
      await waitAtMost(lookAgainMs?.(value) ?? waitMs, heard.promise, until);
      heard = Promise.withResolvers<void>();
    }
  } finally {
    waiters--;
    stopListening();
    stopReconnects();
  }
}
