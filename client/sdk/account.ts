import { Resource } from "./resource.ts";
import type { Account, Answer, CallOptions } from "./types.ts";

/** Who is calling. */
export class OwnAccount extends Resource {
  /** Your account, the key that signs with its scopes, your limits, and the suffixes on offer. */
  get(options?: CallOptions): Promise<Answer<Account>> {
    return this.read("/account", options);
  }
}
