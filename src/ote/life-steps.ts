import type { Memory } from "#ote/memory.ts";
import { domainThing, doneCodes, type Step, step } from "#ote/step.ts";
import { domainDelete } from "#registry/epp/commands/domain/delete.ts";
import { domainInfo } from "#registry/epp/commands/domain/info.ts";
import { domainRenew } from "#registry/epp/commands/domain/renew.ts";
import { domainRestoreReport, domainRestoreRequest } from "#registry/epp/commands/domain/restore.ts";
import { rgpNamespace } from "#registry/epp/namespaces.ts";

export const renewSteps: readonly Step[] = [
  step({
    id: "domain-renew",
    title: "Renew a name",
    rfc: "RFC 5731 §3.2.3",
    needs: { renew: true },
    buildsOn: ["domain-create"],
    expected: doneCodes,
    command: ({ names, exDate, profile }) =>
      domainRenew({
        name: names.domain,
        currentExDate: exDate,
        periodYears: profile.renewalYears,
        periodForm: profile.period,
      }),
    judge: ({ exDate }, memory) => (exDate && exDate <= memory.exDate ? "the term did not become longer" : undefined),
  }),
  step({
    id: "domain-renew-again",
    title: "Renew it with its previous expiry date, which is refused",
    rfc: "RFC 5731 §3.2.3",
    needs: { renew: true },
    buildsOn: ["domain-renew"],
    // The RFC names no code; registries use all of these.
    expected: [2004, 2105, 2306],
    command: ({ names, exDate, profile }) =>
      domainRenew({
        name: names.domain,
        currentExDate: exDate,
        periodYears: profile.renewalYears,
        periodForm: profile.period,
      }),
  }),
];

const needsRgp = { command: "domain:restore", extensionURI: rgpNamespace };

function whyNothingToRestore({ restoreName }: Memory): string | undefined {
  return restoreName === undefined
    ? "the registry released the name at once: name one in redemption with --restore-name"
    : undefined;
}

export const deleteSteps: readonly Step[] = [
  step({
    id: "domain-delete-delegated",
    title: "Delete a name that has name servers",
    rfc: "RFC 5731 §3.2.2",
    buildsOn: ["domain-create-delegated"],
    expected: doneCodes,
    command: ({ names }) => domainDelete(names.delegated),
    unmakes: ({ names }) => domainThing(names.delegated).what,
  }),
  step({
    id: "domain-delete",
    title: "Delete a name",
    rfc: "RFC 5731 §3.2.2",
    buildsOn: ["domain-create", "host-delete", "host-delete-second", "domain-servers-remove"],
    expected: doneCodes,
    command: ({ names }) => domainDelete(names.domain),
    unmakes: ({ names }) => domainThing(names.domain).what,
    remember: (memory, { code }) => {
      memory.deletedAt = memory.clock.now();
      if (code === 1001) memory.restoreName ??= memory.names.domain;
    },
  }),
  step({
    id: "domain-info-deleted",
    title: "Verify that it is deleted or in redemption",
    rfc: "RFC 5731 §3.1.2, RFC 3915 §4.1.2",
    buildsOn: ["domain-delete"],
    expected: [1000, 2303],
    command: ({ names }) => domainInfo(names.domain),
    judge: ({ statuses }) => (statuses.includes("pendingDelete") ? undefined : "its status is not pendingDelete"),
  }),
  step({
    id: "restore-request",
    title: "Request the restoration of a deleted name",
    rfc: "RFC 3915 §4.2.5",
    needs: needsRgp,
    buildsOn: ["domain-delete"],
    expected: doneCodes,
    whyNot: whyNothingToRestore,
    command: ({ restoreName, names }) => domainRestoreRequest(restoreName ?? names.domain),
    makes: ({ restoreName, names }) => (restoreName === names.domain ? domainThing(names.domain) : undefined),
  }),
  step({
    id: "restore-report",
    title: "Report why",
    rfc: "RFC 3915 §4.2.5",
    needs: needsRgp,
    buildsOn: ["restore-request"],
    expected: doneCodes,
    whyNot: whyNothingToRestore,
    command: ({ restoreName, names, deletedAt, clock }) => {
      const name = restoreName ?? names.domain;
      return domainRestoreReport(name, {
        preData: `${name} as it was registered`,
        postData: `${name} as it was registered`,
        deletedAt,
        restoredAt: clock.now(),
        reason: "Deleted by mistake in a certification test",
        statements: [
          "This registrar has not restored the name in order to assume the rights to use or sell it for itself.",
          "The information in this report is true to the best of this registrar's knowledge.",
        ],
      });
    },
  }),
];
