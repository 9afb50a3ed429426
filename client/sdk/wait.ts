import type { Clock } from "./clock.ts";
import { ApiError, isTransient, WaitTimeoutError } from "./errors.ts";
import type { Answer, WaitOptions } from "./types.ts";

const waitTimeoutMsDefault = 10 * 60 * 1000;
/** Used when an unfinished answer does not say when to look again, and after a failed look. */
const checkAfterSecondsDefault = 10;
/** Guards against a service that always says 0. */
const checkAfterSecondsMin = 1;
/** The maximum time that the service holds a status answer (`Prefer: wait=N`). */
const holdSecondsMax = 30;

/**
 * Asks until `isFinal` returns true. Each request asks the service to hold its answer until something changes. If the service
 * says that it does, a change is followed by another request at once; otherwise `check-after` passes between requests. Only the
 * last request, when the time runs out, may come earlier. Faults are retried until the time is up. Rejects with
 * `WaitTimeoutError`, the last fault, or the signal's reason.
 */
export async function waitUntilFinal<T>(
  look: (holdSeconds: number) => Promise<Answer<T>>,
  statusOf: (data: T) => string,
  isFinal: (data: T) => boolean,
  options: WaitOptions<T>,
  clock: Clock,
): Promise<Answer<T>> {
  const deadlineMs = clock.monotonicMs() + (options.timeoutMs ?? waitTimeoutMsDefault);
  const remainingMs = () => Math.max(0, deadlineMs - clock.monotonicMs());
  let delaySeconds = 0;
  let latest: Answer<T> | undefined;
  for (;;) {
    // Decided before the sleep: timers may fire a fraction of a millisecond early.
    const isLastLook = delaySeconds * 1000 >= remainingMs();
    await clock.sleep(isLastLook ? remainingMs() : delaySeconds * 1000, options.signal);
    const lookedAtMs = clock.monotonicMs();
    try {
      const answer = await look(Math.min(holdSecondsMax, Math.floor(remainingMs() / 1000)));
      const isNew = !latest || statusOf(answer.data) !== statusOf(latest.data);
      latest = answer;
      if (isNew) options.onStatus?.(answer);
      if (isFinal(answer.data)) return answer;
      const checkAfterSeconds = answer.checkAfterSeconds ?? options.checkAfterSeconds ?? checkAfterSecondsDefault;
      const passedSeconds = (clock.monotonicMs() - lookedAtMs) / 1000;
      const dueSeconds = Math.max(checkAfterSecondsMin, checkAfterSeconds) - passedSeconds;
      delaySeconds = isNew && answer.isWaitApplied ? 0 : Math.max(0, dueSeconds);
    } catch (error) {
      if (isLastLook || !isTransient(error)) throw error;
      delaySeconds = (error instanceof ApiError && error.retryAfterSeconds) || checkAfterSecondsDefault;
      continue;
    }
    if (isLastLook || remainingMs() === 0) throw new WaitTimeoutError(statusOf(latest.data), latest.checkAfterSeconds);
  }
}
