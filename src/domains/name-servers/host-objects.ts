/** Host objects (RFC 5732): what is left to do until a name can delegate to its name servers. */

import { hasHostCommands, superordinateOf, type WantedHost } from "#domains/name-servers/wanted.ts";
import type { Attempt } from "#domains/orders/order.ts";
import type { Ask } from "#domains/registry/ask.ts";
import { canonicalAddress } from "#lib/net/plain-address.ts";
import type { EppCommand } from "#registry/epp/command.ts";
import { hostCreate } from "#registry/epp/commands/host/create.ts";
import { hostInfo } from "#registry/epp/commands/host/info.ts";
import { hostUpdate } from "#registry/epp/commands/host/update.ts";
import type { RegistryProfile } from "#registry/registries.ts";

/** Addresses in canonical form, by host. */
export type Glue = ReadonlyMap<string, readonly string[]>;

type Step =
  /** All are there. */
  | { is: "ready" }
  /** @param host what the command creates or changes */
  | { is: "send"; command: EppCommand<unknown>; host: string }
  | { is: "refused"; as: "rejected" | "failed"; reason: string }
  | { is: "unknown"; reason: string };

/** @param glue the addresses of hosts that were looked at and are below a name of the reseller, as they are now */
export type HostStep = Step & { glue: Glue };

export interface HostsWanted {
  /** The name that delegates to them. */
  domainName: string;
  registry: Pick<RegistryProfile, "suffixes" | "withoutServices">;
  hosts: readonly WantedHost[];
  /** Hosts that the name delegates to already: they exist. */
  delegated: ReadonlySet<string>;
  /** The names above hosts that are the reseller's. */
  own: ReadonlySet<string>;
  /** The order's. */
  attempts: readonly Attempt[];
}

/** The next command that a host needs, by a fresh look at each. */
export async function nextHostStep(ask: Ask, wanted: HostsWanted): Promise<HostStep> {
  const step = await lookAtHosts(ask, wanted);
  const leftPending = wanted.attempts.filter(
    ({ command, result_code: code }) => command.startsWith("host:") && code === 1001,
  );
  // Each host needs one command. If there was a pending one for each, and no host is pending any more, one was denied.
  if (step.is !== "send" || leftPending.length < wanted.hosts.length) return step;
  const reason = `the registry did not approve the host ${step.host}`;
  return { is: "refused", as: "failed", reason, glue: step.glue };
}

/** Looks at every host before the first command: an order that cannot be carried out must not have changed live addresses. */
async function lookAtHosts(ask: Ask, wanted: HostsWanted): Promise<HostStep> {
  const glue = new Map<string, readonly string[]>();
  // Our login did not ask for hosts: the registry decides which of them a name can have.
  if (!hasHostCommands(wanted.registry)) return { is: "ready", glue };
  const steps: Step[] = [];
  for (const host of wanted.hosts) {
    const above = superordinateOf(host.name, wanted.registry);
    const isKnown = wanted.delegated.has(host.name) && host.addresses === undefined;
    if (isKnown && above !== wanted.domainName) continue;
    const shown = await lookAtHost(ask, host.name);
    if (shown.is === "unknown") return { ...shown, glue };
    const isOwn = above !== undefined && wanted.own.has(above);
    if (shown.is === "there" && isOwn) glue.set(host.name, shown.addresses.map(canonicalAddress));
    const step = stepFor(host, above, shown, wanted.own);
    if (step) steps.push(step);
  }
  const refused = steps.find(({ is }) => is === "refused");
  return { ...(refused ?? steps[0] ?? { is: "ready" }), glue };
}

/** What a host needs; undefined: nothing. */
function stepFor(
  host: WantedHost,
  above: string | undefined,
  shown: Exclude<ShownHost, { is: "unknown" }>,
  own: ReadonlySet<string>,
): Step | undefined {
  if (shown.is === "refused") return shown;
  if (shown.is === "absent") return stepForAbsent(host, above, own);
  const command = glueCommand(host, shown.addresses);
  if (!command) return undefined;
  if (above !== undefined && own.has(above)) return { is: "send", command, host: host.name };
  return { is: "refused", as: "rejected", reason: `the addresses of ${host.name} are not yours to set` };
}

type ShownHost =
  | { is: "absent" }
  | { is: "there"; addresses: readonly string[] }
  | Extract<Step, { is: "refused" | "unknown" }>;

/** RFC 5730 §3: the registry has no commands for hosts, although it has host objects. */
const noHostsCodes = [2000, 2100, 2101, 2307];

async function lookAtHost(ask: Ask, name: string): Promise<ShownHost> {
  try {
    const { code, data } = await ask(hostInfo(name));
    if (code === 2303) return { is: "absent" };
    // It is another registrar's: it can be delegated to.
    if (code === 2201) return { is: "there", addresses: [] };
    if (noHostsCodes.includes(code)) return { is: "refused", as: "failed", reason: `host:info: ${code}` };
    if (code !== 1000 || !data) return { is: "unknown", reason: `host:info was answered with ${code}` };
    const isPending = data.statuses.some((status) => status.startsWith("pending"));
    if (isPending) return { is: "unknown", reason: `a change of ${name} is pending` };
    return { is: "there", addresses: data.addresses };
  } catch (error) {
    return { is: "unknown", reason: error instanceof Error ? error.message : String(error) };
  }
}

/** Outside the registry's suffixes a host has no addresses. */
function stepForAbsent(host: WantedHost, above: string | undefined, own: ReadonlySet<string>): Step {
  const { name, addresses = [] } = host;
  if (above === undefined) return { is: "send", command: hostCreate({ name, addresses: [] }), host: name };
  if (!own.has(above)) {
    const reason = `the host ${name} does not exist, and only who holds ${above} can create it`;
    return { is: "refused", as: "rejected", reason };
  }
  if (addresses.length > 0) return { is: "send", command: hostCreate({ name, addresses }), host: name };
  return { is: "refused", as: "rejected", reason: `the host ${name} does not exist yet: give its addresses` };
}

/** The command that gives a host its addresses, unless it has them. */
function glueCommand({ name, addresses }: WantedHost, shown: readonly string[]): EppCommand<unknown> | undefined {
  if (addresses === undefined) return undefined;
  const present = new Set(shown.map(canonicalAddress));
  const added = addresses.filter((address) => !present.has(address));
  const removed = shown.filter((address) => !addresses.includes(canonicalAddress(address)));
  if (added.length === 0 && removed.length === 0) return undefined;
  return hostUpdate({
    name,
    ...(added.length > 0 && { add: { addresses: added } }),
    ...(removed.length > 0 && { remove: { addresses: removed } }),
  });
}

/**
 * The addresses of hosts, for a registry that does not show them with the name. A host that is not shown to us, or not there, is left
 * out.
 * @throws Error when there is no usable answer
 */
export async function askGlue(ask: Ask, hosts: readonly string[]): Promise<Glue> {
  const glue = new Map<string, readonly string[]>();
  for (const host of hosts) {
    const { code, data } = await ask(hostInfo(host));
    if (code === 1000 && data) glue.set(host, data.addresses.map(canonicalAddress));
    else if (![2201, 2303, ...noHostsCodes].includes(code)) throw new Error(`host:info was answered with ${code}`);
  }
  return glue;
}
