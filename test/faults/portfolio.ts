/** Compares what the portfolio says of a name with what the registry's `<info>` shows. */
import { type Domain, statusesOf } from "../../sandbox/registry/objects.ts";
import type { Store } from "../../sandbox/registry/store.ts";
import { registrarId } from "../harness/profiles.ts";

/** A domain as the API answers it. */
export interface PortfolioEntry {
  expiration_date: string;
  statuses: string[];
  transfer_locked: boolean;
  name_servers: { name: string; addresses?: string[] }[];
  dnssec: { ds?: object[] } | null;
}

/** @param entry absent: the name is not in the portfolio @returns the differences, one sentence each */
export function differences(store: Store, domain: Domain | undefined, entry: PortfolioEntry | undefined): string[] {
  const isOurs = domain?.clID === registrarId && !domain.deletion;
  if (!isOurs) return entry ? ["the portfolio has it, and the registry does not hold it for us"] : [];
  if (!entry) return ["the registry holds it for us, and the portfolio does not have it"];
  const shown = shownOf(store, domain);
  const dnssec = entry.dnssec?.ds ? { ds: sorted(entry.dnssec.ds) } : null;
  const said = { ...entry, dnssec };
  return Object.entries(shown).flatMap(([field, value]) => {
    const ours = JSON.stringify(sorted(said[field as keyof PortfolioEntry]));
    const theirs = JSON.stringify(sorted(value));
    return ours === theirs ? [] : [`${field}: the portfolio says ${ours}, the registry ${theirs}`];
  });
}

function shownOf(store: Store, domain: Domain): PortfolioEntry {
  const { form, servers = [] } = domain.delegation ?? {};
  const records = domain.security?.dsData ?? [];
  const ds = records.map(({ keyTag, alg, digestType, digest }) => {
    return { key_tag: keyTag, algorithm: alg, digest_type: digestType, digest };
  });
  return {
    dnssec: ds.length > 0 ? { ds: sorted(ds) } : null,
    expiration_date: domain.exDate,
    statuses: statusesOf(domain),
    transfer_locked: domain.statuses.includes("clientTransferProhibited"),
    name_servers: servers.map(({ name, addresses: own }) => {
      const isBelow = name.endsWith(`.${domain.name}`);
      const stored = form === "hostObj" && isBelow ? (store.hosts.find(name)?.addresses ?? []) : own;
      const addresses = stored.map(({ address }) => address);
      return addresses.length > 0 ? { name, addresses } : { name };
    }),
  };
}

/** Lists in one order: neither EPP nor our API promises one. */
function sorted<Value>(value: Value): Value {
  if (!Array.isArray(value)) return value;
  const keyOf = (item: unknown) => JSON.stringify(item);
  return value.toSorted((one, other) => keyOf(one).localeCompare(keyOf(other))) as Value;
}
