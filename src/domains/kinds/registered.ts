/** What a registration has brought. */
import { localHandles } from "#domains/contacts/contact-object.ts";
import type { ContactRefs } from "#domains/contacts/stored.ts";
import type { OrderedName } from "#domains/kinds/registration.ts";
import { ofCommand } from "#domains/orders/attempts.ts";
import type { Order, Registered } from "#domains/orders/order.ts";
import { shownOf } from "#domains/portfolio/shown.ts";
import { termAfter } from "#domains/registry/terms.ts";
import type { DomainInfo } from "#registry/epp/commands/domain/info.ts";
import type { RegistryProfile } from "#registry/registries.ts";

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
