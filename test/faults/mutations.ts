/**
 * Deliberate faults of ours, one at a time, which the judge must find: the worker's Node loads a source file with a piece
 * replaced (`node --import ./test/faults/mutations.ts?<id>`).
 */
import { registerHooks } from "node:module";

interface Replacement {
  /** The end of the file's path. */
  file: string;
  find: string;
  replace: string;
}

export interface Mutation {
  id: string;
  /** The worker's fault: completes "a worker that …". */
  means: string;
  /** The batch that reveals it, or "random": random calls do. */
  batch: string;
  /** The judge's finding. */
  verdict: RegExp;
  replacements: Replacement[];
}

/** Few, so that no order waits while the registry undoes what the worker believes. */
export const mutationLabels = [
  ...["plain-", "drop-after-", "undo-after-", "race-", "pending-deny-", "code-2304-", "late-"],
  ...["renew", "restore"].flatMap((kind) => [`of-${kind}-plain-`, `of-${kind}-drop-after-`]),
];

export const mutations: readonly Mutation[] = [
  {
    id: "resend-blindly",
    means: "sends the create again when its answer is lost, without asking",
    batch: "executed.1",
    verdict: /a create was sent while it was not known what the one before had done/,
    replacements: [
      {
        file: "src/domains/orders/steps/advance.ts",
        find: 'if (state === "Processing (send)" && isInDoubt)',
        replace: "if (false)",
      },
      {
        file: "src/domains/orders/steps/next-command.ts",
        find: "const isRepeat =",
        replace: "const isRepeat = false &&",
      },
      { file: "src/domains/orders/write.ts", find: `AND \${condition})`, replace: `AND (true OR \${condition}))` },
    ],
  },
  {
    id: "believe-first-info",
    means: "believes the first info after a lost answer",
    batch: "settled.1",
    verdict: /undo-after-.*Finished, but not registered for us/,
    replacements: [
      {
        file: "src/domains/orders/steps/lookup.ts",
        find: "if (order.confirm_after !== null)",
        replace: "if (true)",
      },
    ],
  },
  {
    id: "any-holder-is-us",
    means: "does not look who holds the name that exists",
    batch: "settled.1",
    verdict: /race-.*Finished, where only Errors is right/,
    replacements: [
      {
        file: "src/domains/registry/ask.ts",
        find: "if (info.clID === registrarId)",
        replace: "if (true)",
      },
    ],
  },
  {
    id: "forget-the-dead",
    means: "never takes over what a killed worker was working on",
    batch: "claimed.1",
    verdict: /lost: still Processing/,
    replacements: [
      {
        file: "src/domains/orders/due.ts",
        find: `ended_at IS NULL AND lane = '\${lane}'\``,
        replace: `ended_at IS NULL AND lane = '\${lane}'
          AND updated_at > (SELECT since FROM registry_leases AS own WHERE own.registry_id = orders.registry_id)\``,
      },
    ],
  },
  {
    id: "renew-again",
    means: "renews again from the date that the registry shows when an answer is lost",
    batch: "renew:executed.1",
    verdict: /domain:renew was executed twice/,
    replacements: [
      { file: "src/domains/kinds/renew-kind.ts", find: "!mayBeExecuted(sessions, order)", replace: "true" },
      {
        file: "src/domains/kinds/renew-kind.ts",
        find: "if (renewedYears >= years)",
        replace: `const isLastLost = order.attempts.at(-1)?.result_code === null;
          if (renewedYears >= Math.max(1, order.attempts.length + (isLastLost ? 1 : 0)))`,
      },
      {
        file: "src/domains/kinds/renew-kind.ts",
        find: "if (isExtended && !isExplained",
        replace: "if (false && !isExplained",
      },
      { file: "src/domains/kinds/renew-kind.ts", find: "years - renewedYears", replace: "years" },
    ],
  },
  {
    id: "restore-without-report",
    means: "takes a name for restored while the registry waits for the report",
    batch: "restore:executed-request.1",
    verdict: /of-restore-.*Finished, but the registry does not show it/,
    replacements: [
      {
        file: "src/domains/kinds/restore.ts",
        find: 'if (rgpStatuses.includes("pendingRestore")) {',
        replace: `if (rgpStatuses.includes("pendingRestore")) {
          return { is: "done", end: { returned: { registeredAt: crDate, expiresAt: exDate } } };`,
      },
    ],
  },
  {
    id: "older-wins",
    means: "sends an order again although a newer one has set its value",
    batch: "random",
    verdict: /is the last order in force, and sets/,
    replacements: [
      { file: "src/domains/orders/turns.ts", find: "if (isUrgent ||", replace: "if (true || isUrgent ||" },
    ],
  },
  {
    id: "undelegate-first",
    means: "takes a name's own name servers away before it looks who else uses them",
    batch: "random",
    verdict: /nameservers: .* is the last order in force, and sets hosts/,
    replacements: [
      {
        file: "src/domains/kinds/delete-hosts.ts",
        find: "const ownNames =",
        replace: `if (own.length > 0) {
          return { is: "send", command: domainUpdate({ name, remove: { nameServers: { hostModel: "objects", hosts: own } } }) };
        }
        const ownNames =`,
      },
    ],
  },
  {
    id: "glue-first",
    means: "changes addresses before it looks at the other hosts, and shows them only at a good end",
    batch: "random",
    verdict: /name_servers: the portfolio says/,
    replacements: [
      {
        file: "src/domains/name-servers/host-objects.ts",
        find: 'const refused = steps.find(({ is }) => is === "refused");',
        replace: "const refused = undefined;",
      },
      {
        file: "src/domains/kinds/nameservers.ts",
        find: "await showGlue(",
        replace: 'if (step.is === "ready") await showGlue(',
      },
    ],
  },
];

function getMutation(id: string): Mutation {
  const mutation = mutations.find((candidate) => candidate.id === id);
  if (!mutation) throw new Error(`there is no mutation "${id}"`);
  return mutation;
}

/** The arguments of the worker's Node. */
export function mutationArguments({ id }: Mutation): string[] {
  return ["--import", `${import.meta.url}?${id}`];
}

const { search } = new URL(import.meta.url);
if (search !== "") mutate(getMutation(search.slice(1)));

function mutate({ replacements }: Mutation): void {
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      const own = replacements.filter(({ file }) => url.endsWith(`/${file}`));
      if (own.length === 0) return loaded;
      let source = String(loaded.source);
      for (const { file, find, replace } of own) {
        if (!source.includes(find)) throw new Error(`${file} has no "${find}" any more`);
        source = source.replace(find, () => replace);
      }
      return { ...loaded, source };
    },
  });
}
