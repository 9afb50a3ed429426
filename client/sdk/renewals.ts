import type { ExportableItems } from "./items.ts";
import { Resource } from "./resource.ts";
import type { CallOptions, Renewal, RenewalFilter } from "./types.ts";

/** The ends of terms. `client.domains.renew` renews a name now, `client.domains.setWillRenew` decides about its next end. */
export class Renewals extends Resource {
  /** Upcoming and recent renewals, by the end of the term. */
  list({ status, signal }: RenewalFilter & CallOptions = {}): ExportableItems<Renewal> {
    return this.exportable({ path: "/renewals", filter: { status }, signal });
  }
}
