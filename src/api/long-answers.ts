/** Answers of any length: how many a reseller may have in progress at once, and what each counts. */
import type { Authenticated } from "#api/authenticate.ts";
import { ApiError } from "#errors.ts";

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

/** The long answers of one api process. */
export function createLongAnswers(): LongAnswers {
  /** By kind and reseller; contains only those in progress. */
  const counts = new Map<string, number>();
  return {
    async begin(kind, authenticated) {
      const { atOnceMax, requests, retryAfterSeconds, advice } = kinds[kind];
      const whose = `${kind}/${authenticated.key.caller.resellerId}`;
      const count = counts.get(whose) ?? 0;
      if (count >= atOnceMax) {
        const text = `Your account has ${count} ${advice}`;
        throw new ApiError("rate_limit_exceeded", { text, headers: { "retry-after": String(retryAfterSeconds) } });
      }
      counts.set(whose, count + 1);
      let isRunning = true;
      const end = () => {
        if (!isRunning) return;
        isRunning = false;
        const left = counts.get(whose)! - 1;
        if (left > 0) counts.set(whose, left);
        else counts.delete(whose);
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
