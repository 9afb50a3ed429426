import { domainFilterOf } from "./domains.ts";
import { orderFilterOf } from "./orders.ts";
import { type ListFilter, pageQuery } from "./paging.ts";
import type { OpenCsv } from "./transport.ts";
import type { CallOptions, DomainFilter, OrderFilter, RenewalOptions } from "./types.ts";

/**
 * Whole lists as CSV, in parts as they arrive. A part may end anywhere, also within a line. A list that breaks off rejects with
 * `ConnectionError`, so what has arrived is the whole list only at the end of the iteration. Each counts as ten requests.
 */
export interface ExportCalls {
  exportDomains(options?: CallOptions & DomainFilter): AsyncGenerator<Uint8Array>;
  exportOrders(options?: CallOptions & OrderFilter): AsyncGenerator<Uint8Array>;
  exportRenewals(options?: Pick<RenewalOptions, "status" | "signal">): AsyncGenerator<Uint8Array>;
  exportDepartures(options?: CallOptions): AsyncGenerator<Uint8Array>;
}

export function exportCalls(open: OpenCsv): ExportCalls {
  const whole = (path: string, { signal }: CallOptions, filter?: ListFilter) =>
    open({ method: "GET", path, query: pageQuery({}, filter), signal });
  return {
    exportDomains: (options = {}) => whole("/domains", options, domainFilterOf(options)),
    exportOrders: (options = {}) => whole("/orders", options, orderFilterOf(options)),
    exportRenewals: (options = {}) => whole("/renewals", options, { status: options.status }),
    exportDepartures: (options = {}) => whole("/domains/departures", options),
  };
}
