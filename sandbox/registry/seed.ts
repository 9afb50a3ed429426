import { addMonths } from "./clock.ts";
import { monthsPerYear, nextRoid } from "./commands/domain-data.ts";
import { requireRegistrar } from "./credit.ts";
import { isServed, parseDomainName } from "./domain-name.ts";
import type { Domain } from "./objects.ts";
import type { Registry } from "./registry.ts";
import type { RunningRegistry } from "./running-registry.ts";
import { otherRegistrarId } from "./settings.ts";

/** A name to register without a command. Absent fields are those of a name registered now for a year. */
export interface DomainSeed {
  name: string;
  /** Absent: the other registrar, `sandbox-other`. */
  registrar?: string;
  /** Times in ISO 8601, years 1900 to 2999. A past exDate expires or renews the name at once, as the settings say. */
  crDate?: string;
  exDate?: string;
  /** client… and server… statuses, or pendingCreate; each once. */
  statuses?: string[];
  authInfo?: string;
  /** The id of a contact that exists. */
  registrant?: string;
}

/** The characters of XML 1.0 (§2.2), because answers contain the text. */
const xmlText = /^[\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]*$/u;

const yearMin = 1900;
const yearMax = 2999;

const statusPattern = /^((client|server)(Hold|(Delete|Renew|Transfer|Update)Prohibited)|pendingCreate)$/;

/** Registers the given names, replacing existing ones. @throws RangeError for an invalid one, and changes nothing */
export async function seedDomains(registry: RunningRegistry, seeds: readonly (string | DomainSeed)[]): Promise<void> {
  const domains = seeds.map((seed) => seededDomain(registry, typeof seed === "string" ? { name: seed } : seed));
  for (const domain of domains) registry.store.domains.put(domain);
  registry.schedule.runDue();
  await registry.store.durable();
}

/** Until then nobody renews the name above a name server. */
const nameServersUntil = "2099-12-31T00:00:00.000Z";

/** Makes hosts of the other registrar, each with the name above it, where they are missing: others can delegate to them. */
export async function seedNameServers(registry: RunningRegistry, hosts: readonly string[]): Promise<void> {
  for (const name of hosts) {
    const above = name.slice(name.indexOf(".") + 1);
    if (!registry.store.domains.find(above)) await seedDomains(registry, [{ name: above, exDate: nameServersUntil }]);
    if (registry.store.hosts.find(name)) continue;
    const [clID, crID] = [otherRegistrarId, otherRegistrarId];
    const addresses = [{ version: "v4" as const, address: "127.0.0.1" }];
    const crDate = registry.now().toISOString();
    registry.store.hosts.put({ name, roid: nextRoid(registry, "H"), statuses: [], addresses, clID, crID, crDate });
  }
  await registry.store.durable();
}

function seededDomain(registry: Registry, seed: DomainSeed): Domain {
  const { registrar = otherRegistrarId, statuses = [], authInfo = "held-elsewhere", registrant } = seed;
  const name = parseDomainName(seed.name);
  if (name === undefined) throw new RangeError(`"${seed.name}" is not a domain name.`);
  if (!isServed(name, registry.suffixes)) throw new RangeError(`"${name}" is under no suffix of this registry.`);
  requireRegistrar(registry, registrar);
  requireStatuses(statuses);
  if (!xmlText.test(authInfo)) throw new RangeError("The authInfo contains a character that XML does not allow.");
  if (registrant !== undefined && !registry.store.contacts.find(registrant)) {
    throw new RangeError(`There is no contact "${registrant}".`);
  }
  const now = registry.now();
  return {
    name,
    roid: nextRoid(registry, "D"),
    registrant,
    contacts: [],
    statuses,
    clID: registrar,
    crID: registrar,
    crDate: seed.crDate === undefined ? now.toISOString() : timeOf(seed.crDate),
    exDate: seed.exDate === undefined ? addMonths(now, monthsPerYear).toISOString() : timeOf(seed.exDate),
    authInfo,
  };
}

/** @throws RangeError for a status that no name can have, or one that is repeated */
export function requireStatuses(statuses: readonly string[]): void {
  const badStatus = statuses.find((status) => !statusPattern.test(status));
  if (badStatus !== undefined) throw new RangeError(`"${badStatus}" is not a status that a name can have.`);
  if (new Set(statuses).size < statuses.length) throw new RangeError("A status is repeated.");
}

/** The time in the form of the rows. @throws RangeError for anything but ISO 8601, or a year that clients cannot read */
export function timeOf(text: string): string {
  const time = new Date(text);
  if (Number.isNaN(time.getTime())) throw new RangeError(`"${text}" is not a time in ISO 8601.`);
  // Dates that follow from a later time would not fit into the four digits of a year that clients read.
  const year = time.getUTCFullYear();
  if (year < yearMin || year > yearMax)
    throw new RangeError(`"${text}" is outside the years ${yearMin} to ${yearMax}.`);
  return time.toISOString();
}
