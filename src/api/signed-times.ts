import type { ReplayGuard } from "#api/replay/replay.ts";
import { type Clock, unixSeconds } from "#lib/clock.ts";
import type { SignedTimes, TimesJudgement } from "#use-case/use-case.ts";

interface Window {
  windowSeconds: number;
  replayGuard: Pick<ReplayGuard, "horizonSeconds">;
}

/** Whether a signature's times are accepted now. @param signed undefined for a request without a readable signature */
export function judgeSignedTimes(clock: Clock, window: Window, signed: SignedTimes | undefined): TimesJudgement {
  return {
    serverTime: clock.now(),
    windowSeconds: window.windowSeconds,
    skewSeconds: signed && signed.timestamp - unixSeconds(clock),
    problem: signed && timestampProblem(signed, clock, window),
  };
}

/** Why a timestamp is refused; undefined when it is accepted. */
function timestampProblem(
  { timestamp, expires }: SignedTimes,
  clock: Clock,
  { windowSeconds, replayGuard }: Window,
): string | undefined {
  const now = unixSeconds(clock);
  const serverTime = () => `The server's time is ${clock.now().toISOString()} (${now})`;
  if (Math.abs(timestamp - now) > windowSeconds) {
    const skew = timestamp - now;
    return `${serverTime()}, the request's timestamp is ${Math.abs(skew)} s ${skew < 0 ? "behind" : "ahead"}; at most ${windowSeconds} s are accepted. Set the clock and sign again.`;
  }
  if (expires !== undefined && expires < now) {
    return `${serverTime()}, the signature expired at ${expires}. Sign again.`;
  }
  if (timestamp <= replayGuard.horizonSeconds()) {
    return `${serverTime()}. After a restart, requests signed at or before ${replayGuard.horizonSeconds()} are not accepted any more; sign again ${whenToSign(replayGuard.horizonSeconds() - now)}.`;
  }
  return undefined;
}

/** @param seconds from now to the last second that may have been lost; negative when that second has passed */
function whenToSign(seconds: number): string {
  return seconds < 0 ? "with the current time" : `in ${seconds + 1} s`;
}
