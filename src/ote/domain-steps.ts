import { checkSeveral } from "#ote/check-several.ts";
import { contactSlotOf, type Memory, serversOf } from "#ote/memory.ts";
import { domainThing, doneCodes, type Step, step } from "#ote/step.ts";
import { domainCheck } from "#registry/epp/commands/domain/check.ts";
import { domainCreate } from "#registry/epp/commands/domain/create.ts";
import { domainInfo } from "#registry/epp/commands/domain/info.ts";
import { feeNamespace, secDnsNamespace } from "#registry/epp/namespaces.ts";

/** The registrant and contacts that the registry requires. */
function holders(memory: Memory) {
  const { contactIds, profile } = memory;
  if (profile.dataModel === "thin") return {};
  const contacts = profile.contactTypes.map((type) => ({ type, id: contactIds[contactSlotOf(memory, type, "first")] }));
  return { registrant: contactIds.first, contacts };
}

/** What a name with contacts builds on. */
export const holderSteps = ["contact-create", "contact-create-admin", "contact-create-tech", "contact-create-billing"];

/** A name without name servers. */
export function createDomain(memory: Memory, name: string, periodYears = memory.profile.periodYears) {
  return domainCreate({
    name,
    periodYears,
    periodForm: memory.profile.period,
    authInfo: memory.authInfo,
    ...holders(memory),
  });
}

export const domainCheckSteps: readonly Step[] = [
  step({
    id: "domain-check-free",
    title: "Check a name that is free",
    rfc: "RFC 5731 §3.1.1",
    expected: [1000],
    command: ({ names }) => domainCheck(names.domain),
    judge: ({ available, reason }) => (available ? undefined : `it is not free: ${reason ?? "no reason is given"}`),
  }),
  step({
    id: "domain-check-several",
    title: "Check several names in one command",
    rfc: "RFC 5731 §3.1.1",
    expected: [1000],
    command: ({ names }) => checkSeveral("domain", [names.delegated, names.absent]),
    judge: (free) => (free.length === 2 ? undefined : `reported as free: ${free.join(", ") || "none"}`),
  }),
  step({
    id: "fee-check",
    title: "Query the price of a name",
    rfc: "RFC 8748 §5.1.1",
    needs: { extensionURI: feeNamespace },
    expected: [1000],
    command: ({ names, profile }) =>
      domainCheck(names.delegated, {
        commands: [
          { command: "create", periodYears: profile.periodYears },
          { command: "renew", periodYears: profile.renewalYears },
          { command: "transfer", periodYears: 1 },
          { command: "restore" },
        ],
        periodForm: profile.period,
      }),
    remember: (memory, { data }) => {
      const amount = data?.fees?.prices.find(({ command }) => command === "create")?.amount;
      if (data?.fees && amount !== undefined) memory.createFee = { amount, currency: data.fees.currency };
    },
    judge: ({ fees }) => (fees ? undefined : "the answer contains no prices"),
  }),
];

export const domainCreateSteps: readonly Step[] = [
  step({
    id: "domain-create",
    title: "Register a name without name servers",
    rfc: "RFC 5731 §3.2.1",
    buildsOn: ["domain-check-free", ...holderSteps],
    expected: doneCodes,
    command: (memory) => createDomain(memory, memory.names.domain),
    makes: ({ names }) => domainThing(names.domain),
    remember: (memory, { data }) => {
      memory.exDate = data?.exDate ?? memory.exDate;
    },
  }),
  step({
    id: "domain-create-again",
    title: "Register it again, which is refused",
    rfc: "RFC 5731 §3.2.1",
    buildsOn: ["domain-create"],
    expected: [2302],
    command: (memory) => createDomain(memory, memory.names.domain),
  }),
  step({
    id: "domain-check-taken",
    title: "Check a name that is taken",
    rfc: "RFC 5731 §3.1.1",
    buildsOn: ["domain-create"],
    expected: [1000],
    command: ({ names }) => domainCheck(names.domain),
    judge: ({ available }) => (available ? "it is reported as free" : undefined),
  }),
  step({
    id: "domain-info",
    title: "Query our name, with its authInfo if it is ours",
    rfc: "RFC 5731 §3.1.2",
    buildsOn: ["domain-create"],
    expected: [1000],
    // Where the authInfo is not ours, a wrong one would be refused.
    command: ({ names, authInfo, profile }) =>
      domainInfo(names.domain, profile.authInfo === "ours" ? { authInfo } : undefined),
    remember: (memory, { data }) => {
      memory.exDate = data?.exDate ?? memory.exDate;
    },
    judge: ({ clID }, { profile }) =>
      clID === profile.registrarId ? undefined : `it belongs to ${clID ?? "nobody that it names"}`,
  }),
  step({
    id: "domain-info-absent",
    title: "Query a name that is not registered",
    rfc: "RFC 5731 §3.1.2",
    buildsOn: ["domain-check-several"],
    expected: [2303],
    command: ({ names }) => domainInfo(names.absent),
  }),
  step({
    id: "domain-create-delegated",
    title: "Register a name with name servers, and with secDNS and fee if the registry supports them",
    rfc: "RFC 5731 §3.2.1, RFC 5910 §5.2.1, RFC 8748 §5.2.1",
    buildsOn: ["domain-check-several", ...holderSteps, "host-create", "host-create-second"],
    expected: doneCodes,
    command: (memory) => createDelegated(memory),
    makes: ({ names }) => domainThing(names.delegated),
  }),
];

function createDelegated(memory: Memory) {
  const { names, authInfo, profile, createFee, secDns, extensionURIs } = memory;
  return domainCreate({
    name: names.delegated,
    periodYears: profile.periodYears,
    periodForm: profile.period,
    authInfo,
    nameServers: serversOf(memory, names.outerHosts),
    ...holders(memory),
    ...(profile.secDns !== "none" && extensionURIs.includes(secDnsNamespace) && { secDns }),
    ...(createFee && { fee: createFee }),
  });
}
