import { createDomain, holderSteps } from "#ote/domain-steps.ts";
import { type Memory, serversOf } from "#ote/memory.ts";
import { domainThing, doneCodes, hostThing, type Step, serversThing, step, type Thing } from "#ote/step.ts";
import { domainInfo } from "#registry/epp/commands/domain/info.ts";
import { domainTransfer } from "#registry/epp/commands/domain/transfer.ts";
import { domainUpdate } from "#registry/epp/commands/domain/update.ts";
import { hostCreate } from "#registry/epp/commands/host/create.ts";

/** Longer than any registry's maximum; the schema allows it. */
const absurdPeriodYears = 99;

export const mistakeSteps: readonly Step[] = [
  step({
    id: "mistake-missing",
    title: "Leave out a parameter: a name server below our name, without an address",
    rfc: "RFC 5731 §1.1, RFC 5732 §3.2.1",
    buildsOn: ["domain-create"],
    expected: [2003, 2306],
    command: ({ names, profile }) => {
      const bare = { name: `ns3.${names.domain}`, addresses: [] };
      if (profile.hostModel === "objects") return hostCreate(bare);
      return domainUpdate({ name: names.domain, add: { nameServers: { hostModel: "attributes", hosts: [bare] } } });
    },
    makes: ({ names }) => hostThing(`ns3.${names.domain}`),
  }),
  step({
    id: "mistake-range",
    title: `Register a name for ${absurdPeriodYears} years`,
    rfc: "RFC 5731 §3.2.1",
    needs: { years: true },
    buildsOn: ["domain-check-several", ...holderSteps],
    expected: [2004, 2306],
    command: (memory) => createDomain(memory, memory.names.absent, absurdPeriodYears),
    makes: ({ names }) => domainThing(names.absent),
  }),
  step({
    id: "mistake-syntax",
    title: "Register an invalid name",
    rfc: "RFC 5731 §2.1",
    buildsOn: holderSteps,
    expected: [2005, 2306],
    command: (memory) => createDomain(memory, memory.names.invalid),
    makes: ({ names }) => domainThing(names.invalid),
  }),
];

const needsOther = { other: true } as const;
const otherName = ({ other, names }: Memory) => other?.name ?? names.domain;
/** Every registry takes name servers, but not every status. */
const otherServers = (memory: Memory) => serversOf(memory, [memory.names.outerHosts[0]]);
const whoIsOther = ({ other }: Memory) => other?.by ?? "main";

/** Another registrar's name: the second account queries ours, or our account queries one that the operator names. */
export const otherSteps: readonly Step[] = [
  step({
    id: "other-info",
    title: "Query another registrar's name",
    rfc: "RFC 5731 §3.1.2",
    needs: needsOther,
    buildsOn: ["domain-create"],
    expected: [1000, 2201],
    by: whoIsOther,
    command: (memory) => domainInfo(otherName(memory)),
    judge: ({ authInfo }) => (authInfo ? "it shows the authInfo to a stranger" : undefined),
  }),
  step({
    id: "other-update",
    title: "Change another registrar's name, which is refused",
    rfc: "RFC 5731 §3.2.5",
    needs: needsOther,
    buildsOn: ["domain-create", "host-create"],
    expected: [2201],
    by: whoIsOther,
    command: (memory) => domainUpdate({ name: otherName(memory), add: { nameServers: otherServers(memory) } }),
    makes: (memory) => serversThing(memory, otherName(memory), [memory.names.outerHosts[0]], whoIsOther(memory)),
  }),
];

const needsSecond = { second: true, command: "domain:transfer" } as const;
const second = () => "second" as const;

function transferThing(name: string): Thing {
  const undo = domainTransfer("cancel", { name });
  return { what: `transfer of ${name}`, undo, by: "second", partOf: domainThing(name).what };
}

function requestStep(suffix: string, title: string, buildsOn: string): Step {
  return step({
    id: `transfer-request${suffix}`,
    title,
    rfc: "RFC 5731 §3.2.4",
    needs: needsSecond,
    buildsOn: ["domain-create", buildsOn],
    expected: [1001],
    by: second,
    command: ({ names, authInfo }) => domainTransfer("request", { name: names.domain, periodYears: 1, authInfo }),
    makes: ({ names }) => transferThing(names.domain),
  });
}

export const transferSteps: readonly Step[] = [
  requestStep("", "Request a transfer as the second account", "transfer-lock-off"),
  step({
    id: "transfer-query",
    title: "Query the transfer",
    rfc: "RFC 5731 §3.1.3",
    needs: needsSecond,
    buildsOn: ["transfer-request"],
    expected: [1000],
    command: ({ names }) => domainTransfer("query", { name: names.domain }),
    judge: ({ status }) => (status === "pending" ? undefined : `its status is ${status}`),
  }),
  step({
    id: "transfer-cancel",
    title: "Cancel the request, as the second account",
    rfc: "RFC 5731 §3.2.4",
    needs: needsSecond,
    buildsOn: ["transfer-request"],
    expected: doneCodes,
    by: second,
    command: ({ names }) => domainTransfer("cancel", { name: names.domain }),
    unmakes: ({ names }) => transferThing(names.domain).what,
  }),
  requestStep("-again", "Request it again", "transfer-cancel"),
  step({
    id: "transfer-reject",
    title: "Reject it, as its registrar",
    rfc: "RFC 5731 §3.2.4",
    needs: needsSecond,
    buildsOn: ["transfer-request-again"],
    expected: doneCodes,
    command: ({ names }) => domainTransfer("reject", { name: names.domain }),
    unmakes: ({ names }) => transferThing(names.domain).what,
  }),
];
