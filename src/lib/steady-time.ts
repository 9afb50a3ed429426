import type { Clock } from "#lib/clock.ts";

/** NTP slews within this; a larger change is a jump. */
const slewMsMax = 1_000;

/**
 * The time of day, measured by the monotonic clock: after a jump, it follows the time of day only once that has stayed
 * there for `settleMs`. Use it for decisions that a momentarily wrong clock must not affect.
 * @returns unix seconds, whole
 */
export function createSteadyTime(clock: Clock, settleMs: number): () => number {
  let offsetMs = clock.now().getTime() - clock.monotonicMs();
  let jumpedAtMs: number | undefined;
  return () => {
    const monotonicMs = clock.monotonicMs();
    const nowOffsetMs = clock.now().getTime() - monotonicMs;
    const isSame = Math.abs(nowOffsetMs - offsetMs) <= slewMsMax;
    if (!isSame) jumpedAtMs ??= monotonicMs;
    if (isSame || monotonicMs - jumpedAtMs! >= settleMs) {
      offsetMs = nowOffsetMs;
      jumpedAtMs = undefined;
    }
    return Math.floor((offsetMs + monotonicMs) / 1000);
  };
}
