/** When a delivery is tried again, and how long a webhook pauses. */

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;

/** How long a delivery is tried again, and how long every delivery may fail before the webhook is disabled. */
export const givenUpAfterMs = 72 * hourMs;

// Short waits first: a receiver that fails now and then has each delivery soon.
const retrySeconds = [5, 15, 30, 60, 90];
const retryHours = [1 / 12, 1 / 2, 2, 5, 10, 12];
/** After the first attempt, the second, and so on; the last one repeats. */
const retryMs = [...retrySeconds.map((wait) => wait * secondMs), ...retryHours.map((wait) => wait * hourMs)];
/** At most, as a part of the wait. */
export const retryJitter = 0.2;

/** Between two attempts of a delivery. @param attempts before the one that failed */
export const retryAfterMs = (attempts: number): number => retryMs[Math.min(attempts, retryMs.length - 1)]!;

const pauseMsMin = 5 * secondMs;
const pauseMsMax = 30 * minuteMs;

/** After a failure: half of the time since everything has failed. A short outage costs little, and a long one few attempts. */
export const pauseAfterMs = (outageMs: number): number => Math.min(Math.max(outageMs / 2, pauseMsMin), pauseMsMax);
