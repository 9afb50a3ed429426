/** Answers of any length: how many a reseller may have in progress at once, and what each counts. */
import type { Authenticated } from "#api/authenticate.ts";
import { ApiError } from "#errors.ts";
import { createPlaces } from "#front/counts.ts";

const kinds = {
  csv: {
    atOnceMax: 2,
    /** As many requests as a list of a thousand rows takes page by page. */
    requests: 10,
    retryAfterSeconds: 5,
    advice: "lists as CSV in progress, which is the most at once. Wait for one of them to end.",
  },
  events: {
    atOnceMax: 5,
    requests: 1,
    retryAfterSeconds: 30,
    advice: "streams of events open, which is the most at once. Close one of them.",
  },
} as const;
export type LongAnswer = keyof typeof kinds;

export interface LongAnswers {
  /** @returns the end of the answer; only its first call counts @throws ApiError `rate_limit_exceeded` */
  begin(kind: LongAnswer, authenticated: Authenticated): Promise<() => void>;
}

/** @param places default: those of this thread alone */
export function createLongAnswers(places = createPlaces()): LongAnswers {
  /** Each long answer in progress has one of its reseller's places. */
  function takePlace(kind: LongAnswer, resellerId: number): string | undefined {
    const all = Array.from({ length: kinds[kind].atOnceMax }, (_, number) => `${kind}/${resellerId}/${number}`);
    return all.find((place) => places.take(place));
  }

  return {
    async begin(kind, authenticated) {
      const { atOnceMax, requests, retryAfterSeconds, advice } = kinds[kind];
      const place = takePlace(kind, authenticated.key.caller.resellerId);
      if (place === undefined) {
        const text = `Your account has ${atOnceMax} ${advice}`;
        throw new ApiError("rate_limit_exceeded", { text, headers: { "retry-after": String(retryAfterSeconds) } });
      }
      let isRunning = true;
      const end = () => {
        if (isRunning) places.free(place);
        isRunning = false;
      };
      // This request is counted already. A smaller limit allows a long answer too.
      const more = Math.min(requests, authenticated.rateLimit.limit) - 1;
      try {
        if (more > 0) await authenticated.takeRequests(more);
      } catch (error) {
        end();
        throw error;
      }
      return end;
    },
  };
}
