import { checkSeveral } from "#ote/check-several.ts";
import { type Memory, serversOf } from "#ote/memory.ts";
import { doneCodes, hostThing, type Step, serversThing, step } from "#ote/step.ts";
import { domainUpdate } from "#registry/epp/commands/domain/update.ts";
import { hostCheck } from "#registry/epp/commands/host/check.ts";
import { hostCreate } from "#registry/epp/commands/host/create.ts";
import { hostDelete } from "#registry/epp/commands/host/delete.ts";
import { hostInfo } from "#registry/epp/commands/host/info.ts";
import { hostUpdate } from "#registry/epp/commands/host/update.ts";

const needs = { hostModel: "objects" } as const;

function createOuter(id: string, title: string, index: 0 | 1): Step {
  return step({
    id,
    title,
    rfc: "RFC 5732 §3.2.1",
    needs,
    buildsOn: ["host-check-several"],
    expected: doneCodes,
    whyNot: ({ names, knownHosts }) =>
      knownHosts.includes(names.outerHosts[index]) ? "the registry knows the host already" : undefined,
    command: ({ names }) => hostCreate({ name: names.outerHosts[index], addresses: [] }),
    makes: ({ names }) => hostThing(names.outerHosts[index]),
  });
}

/** Hosts outside the registry, before the first name exists. */
export const hostSteps: readonly Step[] = [
  step({
    id: "host-check-several",
    title: "Check two hosts outside the registry, in one command",
    rfc: "RFC 5732 §3.1.1",
    needs,
    expected: [1000],
    command: ({ names }) => checkSeveral("host", names.outerHosts),
    remember: (memory, { data = [] }) => {
      memory.knownHosts = memory.names.outerHosts.filter((host) => !data.includes(host));
    },
  }),
  createOuter("host-create", "Create a host outside the registry", 0),
  createOuter("host-create-second", "Create another one", 1),
  step({
    id: "host-check-taken",
    title: "Check a host that exists",
    rfc: "RFC 5732 §3.1.1",
    needs,
    buildsOn: ["host-create"],
    expected: [1000],
    command: ({ names }) => hostCheck(names.outerHosts[0]),
    judge: ({ available }) => (available ? "it is reported as free" : undefined),
  }),
  step({
    id: "host-info",
    title: "Query a host",
    rfc: "RFC 5732 §3.1.2",
    needs,
    buildsOn: ["host-create"],
    expected: [1000],
    command: ({ names }) => hostInfo(names.outerHosts[0]),
  }),
];

function createInner(id: string, title: string, index: 0 | 1): Step {
  return step({
    id,
    title,
    rfc: "RFC 5732 §3.2.1",
    needs,
    buildsOn: ["domain-create"],
    expected: doneCodes,
    command: ({ names, addresses }) => hostCreate({ name: names.hosts[index], addresses: addresses.slice(0, 1) }),
    makes: ({ names }) => hostThing(names.hosts[index]),
  });
}

function deleteInner(id: string, title: string, index: 0 | 1, create: string): Step {
  return step({
    id,
    title,
    rfc: "RFC 5732 §3.2.2",
    needs,
    buildsOn: [create, "domain-servers-remove"],
    expected: doneCodes,
    command: ({ names }) => hostDelete(names.hosts[index]),
    unmakes: ({ names }) => hostThing(names.hosts[index]).what,
  });
}

const firstServers = ({ names }: Memory) => [names.hosts[0], names.outerHosts[0]];
const secondServers = ({ names }: Memory) => [names.hosts[0], names.hosts[1]];

/** Hosts below a name, and the use of hosts by a name. */
export const nameServerSteps: readonly Step[] = [
  createInner("host-create-below", "Create a host below our name, with an address", 0),
  createInner("host-create-below-second", "Create another one", 1),
  step({
    id: "host-update",
    title: "Change a host's address",
    rfc: "RFC 5732 §3.2.5",
    needs,
    buildsOn: ["host-create-below"],
    expected: doneCodes,
    command: ({ names, addresses }) =>
      hostUpdate({
        name: names.hosts[0],
        add: { addresses: addresses.slice(1, 2) },
        remove: { addresses: addresses.slice(0, 1) },
      }),
  }),
  step({
    id: "host-info-updated",
    title: "Verify the change",
    rfc: "RFC 5732 §3.1.2",
    needs,
    buildsOn: ["host-update"],
    expected: [1000],
    command: ({ names }) => hostInfo(names.hosts[0]),
    judge: (info) => (info.addresses.length === 1 ? undefined : `it has ${info.addresses.length} addresses`),
  }),
  step({
    id: "domain-servers-add",
    title: "Add two name servers to a name",
    rfc: "RFC 5731 §3.2.5",
    buildsOn: ["domain-create", "host-create", "host-create-below"],
    expected: doneCodes,
    command: (memory) =>
      domainUpdate({ name: memory.names.domain, add: { nameServers: serversOf(memory, firstServers(memory)) } }),
    makes: (memory) => serversThing(memory, memory.names.domain, firstServers(memory)),
  }),
  step({
    id: "domain-servers-change",
    title: "Replace one of them",
    rfc: "RFC 5731 §3.2.5",
    buildsOn: ["domain-servers-add", "host-create-below-second"],
    expected: doneCodes,
    command: (memory) =>
      domainUpdate({
        name: memory.names.domain,
        add: { nameServers: serversOf(memory, [memory.names.hosts[1]]) },
        remove: { nameServers: serversOf(memory, [memory.names.outerHosts[0]]) },
      }),
    makes: (memory) => serversThing(memory, memory.names.domain, secondServers(memory)),
  }),
  step({
    id: "host-delete-linked",
    title: "Delete a host that a name uses, which is refused",
    rfc: "RFC 5732 §3.2.2",
    needs,
    buildsOn: ["domain-servers-add"],
    expected: [2305],
    command: ({ names }) => hostDelete(names.hosts[0]),
    unmakes: ({ names }) => hostThing(names.hosts[0]).what,
  }),
];

export const hostEndSteps: readonly Step[] = [
  step({
    id: "domain-servers-remove",
    title: "Remove all name servers of a name",
    rfc: "RFC 5731 §3.2.5",
    buildsOn: ["domain-servers-change"],
    expected: doneCodes,
    command: (memory) =>
      domainUpdate({ name: memory.names.domain, remove: { nameServers: serversOf(memory, secondServers(memory)) } }),
    unmakes: (memory) => serversThing(memory, memory.names.domain, []).what,
  }),
  deleteInner("host-delete", "Delete a host", 0, "host-create-below"),
  deleteInner("host-delete-second", "Delete the other one", 1, "host-create-below-second"),
];
