/** What an order of the kind `create` says and finds, as JSON in its row. */
import type { Context } from "#context.ts";
import { localHandles } from "#domains/contacts/contact-object.ts";
import type { ContactRefs } from "#domains/contacts/stored.ts";
import type { WantedHost } from "#domains/name-servers/wanted.ts";
import {
  type FoundDecision,
  type FoundExisting,
  type Order,
  ofCommand,
  type Registered,
  secretRow,
} from "#domains/orders/order.ts";
import { shownOf } from "#domains/portfolio/rows.ts";
import { termAfter } from "#domains/registry/terms.ts";
import type { Sealer } from "#lib/sealed-secret.ts";
import { Secret } from "#lib/secret.ts";
import type { Money } from "#registry/epp/commands/domain/fee.ts";
import type { DomainInfo } from "#registry/epp/commands/domain/info.ts";
import type { RegistryProfile } from "#registry/registries.ts";

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
export interface FoundName extends FoundExisting, FoundDecision {
  /** When the registry last said that the name is free: its answer to the request serves the order's first step too. */
  checked_at?: string;
  contact_renewed?: true;
  /** How many creates were lost and not executed. */
  lost?: number;
  /** How many commands had been sent when `<info>` showed that the last of these was not executed. */
  absent_after?: number;
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

/** What a held name's domain row needs; `undefined` when the registry does not show the dates that it should. */
export function registeredOf(profile: RegistryProfile, order: Order, info: DomainInfo): Registered | undefined {
  const [first] = ofCommand(order.attempts, "domain:create");
  const dates = datesOf(profile, order, info, first?.committed_at ?? order.created_at);
  const { name_servers: nameServers, handles } = shownOf(info);
  const refs: ContactRefs | undefined =
    profile.dataModel === "thin" ? (order.input as OrderedName).contacts : undefined;
  const contacts = refs ? localHandles(refs) : (handles ?? undefined);
  return dates && { ...dates, status: info.statuses[0] ?? "ok", nameServers, handles: contacts };
}

/** @param sentAt when the name was registered at a registry that shows no dates, as far as we know */
export function datesOf(
  { expiry }: RegistryProfile,
  order: Order,
  { crDate, exDate }: { crDate: Date | undefined; exDate: Date | undefined },
  sentAt: Date,
): Pick<Registered, "registeredAt" | "expiresAt"> | undefined {
  if (expiry === "registry") return crDate && exDate && { registeredAt: crDate, expiresAt: exDate };
  const registeredAt = crDate ?? sentAt;
  return { registeredAt, expiresAt: exDate ?? termAfter(registeredAt, (order.input as OrderedName).years) };
}
