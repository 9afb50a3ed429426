/** The name servers of a registration: which of them the create contains, and which follow once the name is registered. */

import type { Context } from "#context.ts";
import { checkAddresses, hasHostCommands, superordinateOf, type WantedHost } from "#domains/name-servers/wanted.ts";
import { type ApiError, invalidField } from "#errors.ts";
import type { RegistryProfile } from "#registry/registries.ts";

export interface Delegation {
  atCreate: readonly WantedHost[];
  /** All name servers, if an order after the create has to set them. */
  later?: readonly WantedHost[];
}

interface Asker {
  resellerId: number;
  domainName: string;
  registry: RegistryProfile;
}

/**
 * Divides the name servers of a request. Host objects below a name can only be made once it is registered (RFC 5732 §1.1).
 * @param asked absent: those of the registry's profile, if it demands some
 * @throws ApiError `bad_request` when the registry cannot take them
 */
export async function divideNameServers(
  { database }: Pick<Context, "database">,
  asker: Asker,
  asked: readonly WantedHost[] | undefined,
): Promise<Delegation> {
  const { domainName, registry } = asker;
  const { min, max } = registry.nameserversAtCreate;
  const defaults: WantedHost[] = min > 0 ? registry.defaultNameServers.map((name) => ({ name })) : [];
  const hosts = asked ?? defaults;
  if (hosts.length < min || hosts.length > max) {
    const bounds = min === max ? `${min}` : `${min} to ${max}`;
    throw invalidField("name_servers", `Under this suffix a name is registered with ${bounds} name servers.`);
  }
  await checkAddresses(database, asker, hosts);
  if (registry.hostModel === "objects" && !hasHostCommands(registry)) return { atCreate: hosts };
  const isBelowName = ({ name }: WantedHost) => superordinateOf(name, registry) === domainName;
  const bare = hosts.findIndex((host) => isBelowName(host) && host.addresses === undefined);
  if (bare >= 0) {
    throw invalidField(`name_servers/${bare}/addresses`, "This host is below the name itself: give its addresses.");
  }
  if (registry.hostModel === "attributes") return { atCreate: hosts };
  const isLater = (host: WantedHost) => isBelowName(host) || host.addresses !== undefined;
  const firstLater = hosts.findIndex(isLater);
  if (firstLater < 0) return { atCreate: hosts };
  if (min > 0) throw neededAtCreate(firstLater);
  return { atCreate: hosts.filter((host) => !isLater(host)), later: hosts };
}

function neededAtCreate(index: number): ApiError {
  const text =
    "Under this suffix a name is registered with name servers that exist. Use others, and set this one once the name is registered.";
  return invalidField(`name_servers/${index}`, text);
}
