/** The operator's commands. They work on the database, not through the API. */
import type { Command } from "commander";
import { findCommand, operatorWord, sharedGroups } from "#operator/command.ts";

/** Adds commands to groups of the program, and creates missing groups. */
export interface CommandPart {
  groups: readonly string[];
  load: () => Promise<(program: Command) => void>;
}

/** In the order of the help. Loading all commands takes half a second, so a call loads only those that it may need. */
export const operatorCommands: readonly CommandPart[] = [
  { groups: ["account", "key"], load: async () => (await import("#operator/accounts.ts")).addAccountCommands },
  { groups: ["packs"], load: async () => (await import("#operator/hosting/packs.ts")).addPackCommands },
  { groups: ["hosting"], load: async () => (await import("#operator/hosting/hosting.ts")).addHostingCommands },
  { groups: ["hosting"], load: async () => (await import("#operator/hosting/host-names.ts")).addHostNameCommands },
  { groups: ["hosting"], load: async () => (await import("#operator/hosting/retry.ts")).addHostingRetryCommand },
  { groups: ["node"], load: async () => (await import("#operator/nodes/nodes.ts")).addNodeCommands },
  {
    groups: ["moves", "hosting", "node"],
    load: async () => (await import("#operator/hosting/moves.ts")).addMoveCommands,
  },
  { groups: ["node"], load: async () => (await import("#operator/nodes/install.ts")).addNodeInstallCommand },
  { groups: ["block"], load: async () => (await import("#operator/names.ts")).addNameCommands },
  { groups: ["orders"], load: async () => (await import("#operator/orders.ts")).addOrderCommands },
  { groups: ["domains"], load: async () => (await import("#operator/domains/names.ts")).addDomainNameCommands },
  { groups: ["reconcile"], load: async () => (await import("#operator/domains/reconcile.ts")).addReconcileCommands },
  { groups: ["transfers"], load: async () => (await import("#operator/domains/transfers.ts")).addTransferCommands },
  { groups: ["registry"], load: async () => (await import("#operator/registries/registries.ts")).addRegistryCommands },
  { groups: ["registry"], load: async () => (await import("#operator/registries/probe.ts")).addRegistryProbeCommand },
  {
    groups: ["registry"],
    load: async () => (await import("#operator/registries/password.ts")).addRegistryPasswordCommand,
  },
  { groups: ["ote"], load: async () => (await import("#operator/ote/ote.ts")).addOteCommand },
  { groups: ["renewals"], load: async () => (await import("#operator/renewals.ts")).addRenewalCommands },
  {
    groups: ["nameservers", "zones"],
    load: async () => (await import("#operator/name-servers.ts")).addNameServerCommands,
  },
  { groups: ["messages"], load: async () => (await import("#operator/messages.ts")).addMessageCommands },
  { groups: ["doctor"], load: async () => (await import("#operator/doctor/doctor.ts")).addDoctorCommand },
  { groups: ["alarms"], load: async () => (await import("#operator/alarms.ts")).addAlarmCommands },
  { groups: ["openapi"], load: async () => (await import("#operator/openapi.ts")).addOpenApiCommand },
  { groups: ["check-config"], load: async () => (await import("#operator/check-config.ts")).addCheckConfigCommand },
  { groups: ["ready"], load: async () => (await import("#operator/ready.ts")).addReadyCommand },
  { groups: ["release"], load: async () => (await import("#operator/release.ts")).addReleaseCommand },
  { groups: ["migrate"], load: async () => (await import("#operator/migrate.ts")).addMigrateCommand },
];

/** The command line in the words of the tool: `operator` is left out where only the operator has a group of this name. */
export function readWords([first = "", second = "", ...rest]: readonly string[]): string[] {
  const isRedundant = first === operatorWord && /^[a-z]/.test(second) && !sharedGroups.includes(second);
  return [...(isRedundant ? [] : [first]), second, ...rest].filter((word, place) => place > 1 || word !== "");
}

/**
 * Adds the command that the command line names. When it names none, as for help or after a typing mistake, adds the
 * whole group, or all commands without a group, so that the help and the error are complete.
 * @param program already has the commands that are not in `parts`
 * @param words the command line, without the program's name, as `readWords` gives it
 */
export async function addCommands(program: Command, parts: readonly CommandPart[], words: string[]): Promise<void> {
  const isOperators = words[0] === operatorWord;
  const [group = "", name] = isOperators ? words.slice(1) : words;
  const findGroup = () => findCommand(isOperators ? findCommand(program, operatorWord) : program, group);
  const isGroup = findGroup() || parts.some(({ groups }) => groups.includes(group));
  for (const { groups, load } of parts) {
    const found = findGroup();
    const isComplete = found && (found.commands.length === 0 || findCommand(found, name) !== undefined);
    if (isComplete) return;
    if (!isGroup || groups.includes(group)) (await load())(program);
  }
}

/**
 * Until a shared group was split, its commands stood side by side. A command that only the operator has is still found there.
 * @returns the words that name it now, if it was named so
 */
export function wordsSinceSplit(program: Command, words: readonly string[]): string[] | undefined {
  const [group = "", name] = words;
  if (!sharedGroups.includes(group) || findCommand(findCommand(program, group), name)) return undefined;
  const isOperators = findCommand(findCommand(findCommand(program, operatorWord), group), name) !== undefined;
  return isOperators ? [operatorWord, ...words] : undefined;
}
