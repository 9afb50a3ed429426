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
 * Looks until `isFinal` returns true, with at least `check-after` between looks; only the last look, when the time runs
 * out, may come earlier. The first look is answered at once; for later ones the service may hold the answer until
 * something changes, so that a change is seen at once. Faults are retried until the time is up. Rejects with
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
  let delaySeconds = options.checkAfterSeconds ?? 0;
  let latest: Answer<T> | undefined;
  for (;;) {
    // Decided before the sleep: timers may fire a fraction of a millisecond early.
    const isLastLook = delaySeconds * 1000 >= remainingMs();
    await clock.sleep(isLastLook ? remainingMs() : delaySeconds * 1000, options.signal);
    const holdSeconds = latest ? Math.min(holdSecondsMax, Math.floor(remainingMs() / 1000)) : 0;
    try {
      const answer = await look(holdSeconds);
      if (!latest || statusOf(answer.data) !== statusOf(latest.data)) options.onStatus?.(answer);
      latest = answer;
      if (isFinal(answer.data)) return answer;
      delaySeconds = Math.max(checkAfterSecondsMin, answer.checkAfterSeconds ?? checkAfterSecondsDefault);
    } catch (error) {
      if (isLastLook || !isTransient(error)) throw error;
      delaySeconds = (error instanceof ApiError && error.retryAfterSeconds) || checkAfterSecondsDefault;
      continue;
    }
    if (isLastLook || remainingMs() === 0) throw new WaitTimeoutError(statusOf(latest.data), latest.checkAfterSeconds);
  }
}
