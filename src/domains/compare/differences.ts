/** How what the registry shows of a name differs from what the domain's row says that it last showed. */
import { type Handles, lockedStatus, type ShownDomain } from "#domains/portfolio/rows.ts";
import { isAnotherDate } from "#domains/registry/terms.ts";
import { canonicalAddress } from "#lib/net/plain-address.ts";

/** The columns of `domains` that are compared. */
export interface LastShown {
  statuses: readonly string[];
  /** A ShownDomain's `name_servers`. */
  delegation: unknown;
  handles: unknown;
  dnssec: unknown;
  registry_ex_date: Date;
  /** Null: no look has been written to the row yet, so only the date is known. */
  shown_at: Date | null;
}

export type DifferenceField = "statuses" | "name_servers" | "contacts" | "dnssec" | "expiration_date" | "auth_code";

export interface Difference {
  field: DifferenceField;
  /** As text, for people. */
  here: string;
  registry: string;
  /** Whether the row had a value that the registry does not show any more. */
  was_set: boolean;
}

/**
 * RFC 5731 §2.3: the registry sets these by itself, from what it holds and from commands that wait for its decision.
 * What is pending is the business of orders and departures.
 */
const isDerived = (status: string) => ["ok", "inactive", "linked"].includes(status) || status.startsWith("pending");

type NameServers = ShownDomain["name_servers"];

const serversText = (servers: NameServers) =>
  servers
    .map(({ name, addresses = [] }) => [name.toLowerCase(), ...addresses.map(canonicalAddress).toSorted()].join(" "))
    .toSorted()
    .join(", ");

/** Addresses are compared where both sides have them: those that were never seen are no news (src/domains/portfolio/rows.ts). */
function withKnownGlue(known: NameServers, there: NameServers): NameServers {
  return there.map((server) => {
    const before = known.find(({ name }) => name === server.name);
    return before && !(before.addresses && server.addresses) ? before : server;
  });
}

const statusesText = (statuses: readonly string[]) =>
  statuses
    .filter((status) => !isDerived(status))
    .toSorted()
    .join(", ");

function contactsText(handles: unknown): string {
  const { registrant, contacts = [] } = (handles ?? {}) as Partial<Handles>;
  const others = contacts.map(({ type, id }) => `${type} ${id}`).toSorted();
  return [...(registrant === undefined ? [] : [`registrant ${registrant}`]), ...others].join(", ");
}

/** The records in an order of their own: registries may list them in any. */
function dnssecText(secDns: unknown): string {
  const { dsData = [], keyData = [] } = (secDns ?? {}) as NonNullable<ShownDomain["dnssec"]>;
  const ds = dsData.map(({ keyTag, alg, digestType, digest }) =>
    ["ds", keyTag, alg, digestType, digest.toUpperCase()].join(" "),
  );
  const keys = keyData.map(({ flags, protocol, alg, pubKey }) =>
    ["key", flags, protocol, alg, pubKey.replaceAll(/\s/g, "")].join(" "),
  );
  return [...ds, ...keys].toSorted().join(", ");
}

/** @param there without `ex_date`, dates are not compared */
export function differencesOf(here: LastShown, there: ShownDomain): Difference[] {
  const compared: Difference[] = [];
  const compare = (field: DifferenceField, mine: string, registry: string, wasSet = mine !== "") => {
    if (mine !== registry) compared.push({ field, here: mine, registry, was_set: wasSet });
  };
  if (here.shown_at !== null) {
    const known = here.delegation as NameServers;
    compare(
      "statuses",
      statusesText(here.statuses),
      statusesText(there.statuses),
      here.statuses.includes(lockedStatus),
    );
    compare("name_servers", serversText(known), serversText(withKnownGlue(known, there.name_servers)));
    // Where the registry shows no contacts they are ours alone.
    compare("contacts", contactsText(here.handles), contactsText(there.handles ?? here.handles));
    compare("dnssec", dnssecText(here.dnssec), dnssecText(there.dnssec));
  }
  const exDate = there.ex_date === null ? undefined : new Date(there.ex_date);
  if (exDate && isAnotherDate(here.registry_ex_date, exDate)) {
    compare("expiration_date", here.registry_ex_date.toISOString(), exDate.toISOString());
  }
  return compared;
}

/** Whether the transfer lock is what differs. */
export function isLockMoved(here: Pick<LastShown, "statuses">, there: ShownDomain): boolean {
  return here.statuses.includes(lockedStatus) !== there.statuses.includes(lockedStatus);
}

/** For people. */
export const describeDifferences = (differences: readonly Difference[]): string =>
  differences.map(({ field, here, registry }) => `${field}: "${here}" became "${registry}"`).join("; ");
