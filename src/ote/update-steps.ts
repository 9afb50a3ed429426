import { domainThing, doneCodes, type Step, statusThing, step } from "#ote/step.ts";
import { domainDelete } from "#registry/epp/commands/domain/delete.ts";
import { domainInfo } from "#registry/epp/commands/domain/info.ts";
import { domainUpdate } from "#registry/epp/commands/domain/update.ts";
import { secDnsNamespace } from "#registry/epp/namespaces.ts";

/** Two steps that set a status and remove it again. */
function statusSteps(id: string, status: string): [Step, Step] {
  return [
    step({
      id: `${id}-on`,
      title: `Set ${status}`,
      rfc: "RFC 5731 §2.3, §3.2.5",
      needs: { status },
      buildsOn: ["domain-create"],
      expected: doneCodes,
      command: ({ names }) => domainUpdate({ name: names.domain, add: { statuses: [status] } }),
      makes: ({ names }) => statusThing(names.domain, status),
    }),
    step({
      id: `${id}-off`,
      title: `Remove ${status}`,
      rfc: "RFC 5731 §2.3, §3.2.5",
      needs: { status },
      buildsOn: [`${id}-on`],
      expected: doneCodes,
      command: ({ names }) => domainUpdate({ name: names.domain, remove: { statuses: [status] } }),
      unmakes: ({ names }) => statusThing(names.domain, status).what,
    }),
  ];
}

const [deleteLockOn, deleteLockOff] = statusSteps("delete-lock", "clientDeleteProhibited");

export const updateSteps: readonly Step[] = [
  ...statusSteps("hold", "clientHold"),
  ...statusSteps("transfer-lock", "clientTransferProhibited"),
  deleteLockOn,
  step({
    id: "domain-delete-locked",
    title: "Delete a name while it is locked, which is refused",
    rfc: "RFC 5731 §3.2.2",
    needs: { status: "clientDeleteProhibited" },
    buildsOn: ["delete-lock-on"],
    expected: [2304],
    command: ({ names }) => domainDelete(names.domain),
    unmakes: ({ names }) => domainThing(names.domain).what,
  }),
  deleteLockOff,
  step({
    id: "auth-info-change",
    title: "Change a name's authInfo",
    rfc: "RFC 5731 §3.2.5",
    needs: { authInfo: "ours" },
    buildsOn: ["domain-create"],
    expected: doneCodes,
    command: ({ names, newAuthInfo }) => domainUpdate({ name: names.domain, authInfo: newAuthInfo }),
    remember: (memory) => {
      memory.authInfo = memory.newAuthInfo;
    },
  }),
  step({
    id: "auth-info-see",
    title: "Verify the change",
    rfc: "RFC 5731 §3.1.2",
    needs: { authInfo: "ours" },
    buildsOn: ["auth-info-change"],
    expected: [1000],
    command: ({ names, authInfo }) => domainInfo(names.domain, { authInfo }),
    judge: (info, { authInfo }) =>
      info.authInfo === undefined || info.authInfo.reveal() === authInfo.reveal() ? undefined : "it is a different one",
  }),
  step({
    id: "auth-info-issue",
    title: "Have the registry issue a name's authInfo",
    rfc: "RFC 5731 §3.1.2",
    needs: { authInfo: "issued" },
    buildsOn: ["domain-create"],
    expected: [1000],
    command: ({ names }) => domainInfo(names.domain, { issuedCode: "request" }),
    judge: ({ authInfo }) => (authInfo ? undefined : "the answer shows none"),
  }),
  step({
    id: "auth-info-withdraw",
    title: "Have it withdraw the authInfo",
    rfc: "RFC 5731 §3.1.2",
    needs: { authInfo: "issued" },
    buildsOn: ["auth-info-issue"],
    expected: [1000],
    command: ({ names }) => domainInfo(names.domain, { issuedCode: "cancel" }),
    judge: ({ authInfo }) => (authInfo ? "the answer still shows one" : undefined),
  }),
];

const needs = { extensionURI: secDnsNamespace };

export const secDnsSteps: readonly Step[] = [
  step({
    id: "sec-dns-add",
    title: "Secure a name with DNSSEC",
    rfc: "RFC 5910 §5.2.5",
    needs,
    buildsOn: ["domain-create"],
    expected: doneCodes,
    command: ({ names, secDns }) => domainUpdate({ name: names.domain, secDns: { add: secDns } }),
  }),
  step({
    id: "sec-dns-info",
    title: "Verify that it is secured",
    rfc: "RFC 5910 §5.1.2",
    needs,
    buildsOn: ["sec-dns-add"],
    expected: [1000],
    command: ({ names }) => domainInfo(names.domain),
    judge: ({ secDns }) => (secDns ? undefined : "the answer shows no DNSSEC"),
  }),
  step({
    id: "sec-dns-remove",
    title: "Remove DNSSEC again",
    rfc: "RFC 5910 §5.2.5",
    needs,
    buildsOn: ["sec-dns-add"],
    expected: doneCodes,
    command: ({ names, secDns: { dsData, keyData } }) =>
      domainUpdate({
        name: names.domain,
        secDns: { remove: { ...(dsData && { dsData }), ...(keyData && { keyData }) } },
      }),
  }),
];
