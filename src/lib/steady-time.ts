import type { Clock } from "#lib/clock.ts";

/** NTP slews within this; what is more is a jump. */
const slewMsMax = 1_000;

/**
 * The time of day, told by the clock that never jumps: it follows a time of day that jumps only once it has stayed there
 * for `settleMs`. For what a moment's wrong clock must not decide.
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
