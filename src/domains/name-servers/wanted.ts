/** The name servers that a request asks for: their form, and which addresses a reseller may set (RFC 5732 §1.1). */

import { isIP } from "node:net";
import Type, { type Static } from "typebox";
import type { Context } from "#context.ts";
import type { Database, Transaction } from "#db/database.ts";
import { statement } from "#db/statement.ts";
import { type ApiError, invalidField } from "#errors.ts";
import { InvalidDomainName, parseDomainName } from "#lib/domain-name.ts";
import { canonicalAddress } from "#lib/net/plain-address.ts";
import { isPublicUnicast } from "#lib/net/public-address.ts";
import { hostNamespace } from "#registry/epp/namespaces.ts";
import type { RegistryProfile } from "#registry/registries.ts";
import { checkedByHand } from "#use-case/docs.ts";

/** As many as fit into a DNS answer of 512 bytes, and as registries take. */
const nameServersMax = 13;
const addressesMax = 13;

export const nameServerShape = Type.Object(
  {
    name: Type.String({ description: "An A-label name." }),
    addresses: Type.Optional(
      Type.Array(Type.String(), { description: "IPv4 and IPv6, of a host below a name of the same registry." }),
    ),
  },
  { title: "NameServer", examples: [{ name: "ns1.hello.example", addresses: ["192.0.2.1", "2001:db8::1"] }] },
);

/** A name server as it was ordered. Addresses are in canonical form; absent: those that are there stay. */
export type WantedHost = Static<typeof nameServerShape>;

/** The field `name_servers` of a request. */
export const nameServersField = Type.Array(checkedByHand(Type.Union([Type.String(), nameServerShape])), {
  description: `At most ${nameServersMax} hosts; a text is a host without addresses.`,
});

/**
 * Reads the field `name_servers` of a request: names, or objects with a name and addresses.
 * @throws ApiError `bad_request`
 */
export function parseNameServers(entries: readonly unknown[]): WantedHost[] {
  if (entries.length > nameServersMax) {
    throw invalidField("name_servers", `Give at most ${nameServersMax} name servers.`);
  }
  const hosts: WantedHost[] = [];
  for (const [index, entry] of entries.entries()) {
    const field = `name_servers/${index}`;
    const host = parseHost(field, entry);
    if (hosts.some(({ name }) => name === host.name)) throw invalidField(field, "This name server is given twice.");
    hosts.push(host);
  }
  return hosts;
}

function parseHost(field: string, entry: unknown): WantedHost {
  if (typeof entry === "string") return { name: parseHostName(field, entry) };
  if (typeof entry !== "object" || entry === null || Array.isArray(entry)) {
    throw invalidField(field, "Give a host name, or an object with name and addresses.");
  }
  const { name, addresses } = entry as { name?: unknown; addresses?: unknown };
  if (typeof name !== "string") throw invalidField(`${field}/name`, "Give the host's name as a string.");
  const host = { name: parseHostName(`${field}/name`, name) };
  if (addresses === undefined || addresses === null) return host;
  const at = `${field}/addresses`;
  if (!Array.isArray(addresses)) throw invalidField(at, "Give an array of IPv4 and IPv6 addresses.");
  if (addresses.length > addressesMax) throw invalidField(at, `Give at most ${addressesMax} addresses.`);
  const parsed = addresses.map((address, index) => parseAddress(`${at}/${index}`, address));
  const twice = parsed.findIndex((address, index) => parsed.indexOf(address) < index);
  if (twice >= 0) throw invalidField(`${at}/${twice}`, "This address is given twice.");
  return parsed.length === 0 ? host : { name: host.name, addresses: parsed };
}

function parseHostName(field: string, text: string): string {
  try {
    return parseDomainName(text);
  } catch (error) {
    if (!(error instanceof InvalidDomainName)) throw error;
    throw invalidField(field, error.message);
  }
}

function parseAddress(field: string, address: unknown): string {
  if (typeof address !== "string" || isIP(address) === 0 || address.includes("%")) {
    throw invalidField(field, "This is not an IPv4 or IPv6 address.");
  }
  const canonical = canonicalAddress(address);
  if (isIP(canonical) !== isIP(address)) throw invalidField(field, "Give this IPv4 address in its own form.");
  return canonical;
}

/** The name of the registry that a host is or is below; undefined for a host outside its suffixes. */
export function superordinateOf(host: string, { suffixes }: Pick<RegistryProfile, "suffixes">): string | undefined {
  const labels = host.split(".");
  const at = labels.findIndex((_label, index) => index > 0 && suffixes.includes(labels.slice(index).join(".")));
  return at < 0 ? undefined : labels.slice(at - 1).join(".");
}

/** Whether a host has its addresses from a name. Both are A-label names in lower case. */
export const isBelow = (host: string, name: string): boolean => host === name || host.endsWith(`.${name}`);

/** Whether hosts can be looked at and created. */
export const hasHostCommands = ({ withoutServices }: Pick<RegistryProfile, "withoutServices">) =>
  !withoutServices.includes(hostNamespace);

const ownNames = statement(
  "domains-own-of-names",
  "SELECT domain_name FROM domains WHERE reseller_id = $reseller_id AND domain_name = ANY ($names::text[])",
  { domain_name: "text" },
);

/** Who asks for which name. */
interface Asker {
  resellerId: number;
  domainName: string;
  registry: RegistryProfile;
}

/** The names above these hosts that are the reseller's, with the name itself, which may not be registered yet. */
export async function ownSuperordinates(
  database: Pick<Database | Transaction, "query">,
  { resellerId, domainName, registry }: Asker,
  hosts: readonly WantedHost[],
): Promise<ReadonlySet<string>> {
  const names = hosts
    .flatMap(({ name }) => superordinateOf(name, registry) ?? [])
    .filter((name) => name !== domainName);
  const found = names.length === 0 ? [] : await database.query(ownNames, { reseller_id: resellerId, names });
  return new Set(found.map(({ domain_name }) => domain_name)).add(domainName);
}

// A host is there if a name delegates to it, or an order gave it addresses. An order of this name that was not sent yet is replaced.
const hostsWithoutAddresses = statement(
  "name-servers-without-addresses",
  `SELECT bare.host FROM unnest($hosts::text[], $aboves::text[]) AS bare (host, above)
     JOIN domains AS held ON held.domain_name = bare.above AND held.reseller_id = $reseller_id
   WHERE NOT EXISTS (SELECT FROM names_at_hosts(ARRAY[bare.host]))
     AND NOT EXISTS (SELECT FROM orders
       CROSS JOIN LATERAL jsonb_array_elements(input -> 'name_servers') AS ordered
       WHERE orders.domain_name = ANY (ARRAY[$domain_name, bare.above]) AND reseller_id = $reseller_id
         AND kind = 'nameservers' AND status IN ('NotProvisioned', 'Processing', 'Pending', 'Finished')
         AND NOT (status = 'NotProvisioned' AND orders.domain_name = $domain_name)
         AND ordered ->> 'name' = bare.host AND ordered ? 'addresses')`,
  { host: "text" },
);

/**
 * Refuses addresses of hosts that are not the reseller's to set, and hosts below the reseller's names that have none yet.
 * @throws ApiError `bad_request`
 */
export async function checkAddresses(
  database: Pick<Database | Transaction, "query">,
  asker: Asker,
  hosts: readonly WantedHost[],
): Promise<void> {
  const isGiven = hosts.some(({ addresses }) => addresses !== undefined);
  const [own, bare] = await Promise.all([
    isGiven ? ownSuperordinates(database, asker, hosts) : new Set<string>(),
    findBareHosts(database, asker, hosts),
  ]);
  for (const [index, host] of hosts.entries()) {
    const field = `name_servers/${index}/addresses`;
    if (bare.has(host.name)) {
      throw invalidField(field, "This host is below a name of yours, and has no addresses yet: give them.");
    }
    if (host.addresses) checkGiven(asker, host.name, host.addresses, { own, field });
  }
}

/** The hosts below the reseller's names that are given without addresses, and of which none are known. */
async function findBareHosts(
  database: Pick<Database | Transaction, "query">,
  { resellerId, domainName, registry }: Asker,
  hosts: readonly WantedHost[],
): Promise<ReadonlySet<string>> {
  const asked = hosts.flatMap(({ name, addresses }) => {
    const above = addresses ? undefined : superordinateOf(name, registry);
    return above === undefined ? [] : { name, above };
  });
  const isAttributes = registry.hostModel === "attributes";
  const needing = isAttributes ? asked.filter(({ above }) => above === domainName) : asked;
  if (needing.length === 0 || !(isAttributes || hasHostCommands(registry))) return new Set();
  const found = await database.query(hostsWithoutAddresses, {
    reseller_id: resellerId,
    domain_name: domainName,
    hosts: needing.map(({ name }) => name),
    aboves: needing.map(({ above }) => above),
  });
  return new Set(found.map(({ host }) => host));
}

/** @throws ApiError `bad_request` when the reseller may not give the host these addresses */
function checkGiven(
  { domainName, registry }: Asker,
  host: string,
  addresses: readonly string[],
  { own, field }: { own: ReadonlySet<string>; field: string },
): void {
  const above = superordinateOf(host, registry);
  if (above === undefined) {
    throw invalidField(field, "A host outside the registry's suffixes has no addresses there: leave them out.");
  }
  if (!own.has(above)) {
    throw invalidField(field, "Only who holds the name above this host sets its addresses: leave them out.");
  }
  if (registry.hostModel === "objects" && !hasHostCommands(registry)) {
    throw invalidField(field, "The registry of this name takes no addresses of hosts from us: leave them out.");
  }
  if (registry.hostModel === "attributes" && above !== domainName) {
    throw invalidField(field, "At this registry only hosts below the name itself have addresses: leave them out.");
  }
  const private_ = registry.glueAddresses === "public" ? addresses.findIndex((one) => !isPublicUnicast(one)) : -1;
  if (private_ >= 0) {
    throw invalidField(`${field}/${private_}`, "This address is not reachable from the Internet: give a public one.");
  }
}

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
