import type { ServerResponse } from "node:http";
import { sourceOf } from "#lib/net/source-address.ts";

/** Requests that have arrived and are not answered yet, by source: a proxy brings those of everybody over its connections. */
export interface RequestsAtWork {
  /** Counts a request until its answer is out or its connection is gone. Returns false when it is one too many. */
  take(address: string, response: ServerResponse): boolean;
}

/** @param sourceRequestsMax of one source: an IPv4 address, or a /64 of IPv6 */
export function createRequestsAtWork(sourceRequestsMax: number): RequestsAtWork {
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
