/** What an order of the kind `create` says and finds, as JSON in its row. */
import type { Context } from "#context.ts";
import type { ContactRefs } from "#domains/contacts/stored.ts";
import type { WantedHost } from "#domains/name-servers/wanted.ts";
import { type Order, secretRow } from "#domains/orders/order.ts";
import type { FoundExisting } from "#domains/orders/unsent.ts";
import type { Sealer } from "#lib/sealed-secret.ts";
import { Secret } from "#lib/secret.ts";
import type { Money } from "#registry/epp/commands/domain/fee.ts";

/** `input`. */
export interface OrderedName {
  years: number;
  will_renew: boolean;
  /** Those that the create contains. */
  name_servers: readonly WantedHost[];
  /** All name servers, if some of them can only be made once the name is registered, and the code of the order that sets them. */
  later?: { order_code: string; name_servers: readonly WantedHost[] } | undefined;
  /** By role: digests. For the others the reseller's profile is the contact. */
  contacts?: ContactRefs | undefined;
  /** The price of a name that has a price of its own (RFC 8748). */
  fee?: Money | undefined;
  /** The order has an allocation token (RFC 8495). */
  has_token?: true | undefined;
  /** The name is to be locked against transfers once it is registered. */
  locks_name?: true | undefined;
}

/** `found`. */
export interface FoundName extends FoundExisting {
  /** When the registry last said that the name is free: its answer to the request serves the order's first step too. */
  checked_at?: string;
  contact_renewed?: true;
  /** How many creates were lost and not executed. */
  lost?: number;
  /** What a message has said about its last create, and when (src/domains/messages/wake-order.ts). */
  decision?: { is: "approved" | "denied"; at: string };
  /** Why the registry has refused a delete: while the create was pending, or after that. */
  delete_refused?: { reason: string; isPending: boolean };
}

interface NameSecret {
  auth_info: string;
  allocation_token?: string | undefined;
}

/** Seals an order's authInfo and allocation token: they open in its row only. */
export function sealSecret(
  sealer: Sealer,
  code: string,
  authInfo: Secret,
  allocationToken: Secret | undefined,
): Buffer {
  const secret: NameSecret = { auth_info: authInfo.reveal(), allocation_token: allocationToken?.reveal() };
  return sealer.seal(secretRow(code), new Secret(JSON.stringify(secret)));
}

/** The authInfo and the allocation token of an order that has not ended. */
export function openSecret(
  { sealer }: Pick<Context, "sealer">,
  { order_code, secret_sealed }: Order,
): { authInfo: Secret; allocationToken?: Secret } {
  if (secret_sealed === null) throw new Error("the secret of an order is erased at its end");
  const secret = JSON.parse(sealer.open(secretRow(order_code), secret_sealed).reveal()) as NameSecret;
  const { auth_info, allocation_token: token } = secret;
  return { authInfo: new Secret(auth_info), ...(token !== undefined && { allocationToken: new Secret(token) }) };
}
