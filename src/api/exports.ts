/** How many whole lists a reseller may read at once, and what each counts. */
import type { Authenticated } from "#api/authenticate.ts";
import { ApiError } from "#errors.ts";

const exportsAtOnceMax = 2;
/** As many requests as a list of a thousand rows takes page by page. */
const exportRequests = 10;
const retryAfterSeconds = 5;

export interface ExportTurns {
  /** @returns the end of the turn; only its first call counts @throws ApiError `rate_limit_exceeded` */
  begin(authenticated: Authenticated): () => void;
}

/** The turns of one api process. */
export function createExportTurns(): ExportTurns {
  /** By reseller; contains only those with exports in progress. */
  const counts = new Map<number, number>();
  return {
    begin(authenticated) {
      const { resellerId } = authenticated.key.caller;
      const count = counts.get(resellerId) ?? 0;
      if (count >= exportsAtOnceMax) {
        const text = `Your account has ${count} lists as CSV in progress, which is the most at once. Wait for one of them to end.`;
        throw new ApiError("rate_limit_exceeded", { text, headers: { "retry-after": String(retryAfterSeconds) } });
      }
      // This request is counted already. A smaller limit allows an export too.
      authenticated.takeRequests(Math.min(exportRequests, authenticated.rateLimit.limit) - 1);
      counts.set(resellerId, count + 1);
      let isRunning = true;
      return () => {
        if (!isRunning) return;
        isRunning = false;
        const left = counts.get(resellerId)! - 1;
        if (left > 0) counts.set(resellerId, left);
        else counts.delete(resellerId);
      };
    },
  };
}
