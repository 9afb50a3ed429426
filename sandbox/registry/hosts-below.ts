import type { Host } from "./objects.ts";
import type { Store } from "./store.ts";

/** The hosts below a name, and the host of that name itself. */
export function hostsBelow({ hosts }: Store, name: string): Host[] {
  return hosts.values().filter((host) => host.name === name || host.name.endsWith(`.${name}`));
}

/** Removes a name and the hosts below it, also from all delegations to them, because their glue has no owner any more. */
export function removeName({ store }: { store: Store }, name: string): void {
  store.domains.delete(name);
  const gone = new Set(hostsBelow(store, name).map((host) => host.name));
  if (gone.size === 0) return;
  for (const host of gone) store.hosts.delete(host);
  for (const domain of store.domains.values()) {
    const { delegation } = domain;
    const servers = delegation?.servers.filter((server) => !gone.has(server.name)) ?? [];
    if (!delegation || servers.length === delegation.servers.length) continue;
    store.domains.put({ ...domain, delegation: servers.length > 0 ? { ...delegation, servers } : undefined });
  }
}
