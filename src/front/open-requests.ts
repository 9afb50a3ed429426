import type { ServerResponse } from "node:http";
import { sourceOf } from "#lib/net/source-address.ts";

/** Unanswered requests by source, because a proxy's connections carry the requests of many clients. */
export interface OpenRequests {
  /**
   * Counts a request until its answer is sent or its connection is closed. Returns false when the source is over its
   * limit.
   */
  take(address: string, response: ServerResponse): boolean;
}

/** @param sourceRequestsMax the limit for one source: an IPv4 address, or a /64 of IPv6 */
export function createOpenRequests(sourceRequestsMax: number): OpenRequests {
  const counts = new Map<string, number>();
  return {
    take(address, response) {
      const source = sourceOf(address);
      const count = counts.get(source) ?? 0;
      if (count >= sourceRequestsMax) return false;
      counts.set(source, count + 1);
      response.once("close", () => {
        const left = counts.get(source)! - 1;
        if (left > 0) counts.set(source, left);
        else counts.delete(source);
      });
      return true;
    },
  };
}
