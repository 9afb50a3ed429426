/**
 * Functions that are longer than the rule allows, by file and name, with their lines today: they may only become shorter.
 * Each is a factory whose inner functions share its variables, as a class's methods share its fields.
 */
export const longFunctions: Record<string, number> = {
  "src/api/replay/replay.ts createReplayGuard": 84,
  "src/db/listener.ts createListener": 76,
};

/** Folders that still import each other; a pair leaves the list when one of the two no longer knows the other. */
export const foldersLeftInCircles: readonly string[] = [
  "src/domains: changes and orders",
  "src/domains: changes and registry",
  "src/domains: managing and orders",
  "src/domains: managing and registry",
  "src/domains: orders and portfolio",
  "src/domains: orders and registry",
  "src/domains: portfolio and registry",
  "src/domains: portfolio and renewals",
];

/** Files that still import each other at run time, by way of others: registrations wait for messages, which decide about them. */
export const filesLeftInCircles: readonly string[] = [
  "src/domains/orders/cancel-step.ts",
  "src/domains/orders/kind-create.ts",
  "src/domains/orders/machine.ts",
  "src/domains/orders/settle-step.ts",
  "src/domains/portfolio/leave.ts",
  "src/domains/portfolio/looks.ts",
  "src/domains/registry/pending-actions.ts",
  "src/domains/registry/poll.ts",
  "src/domains/registry/read-message.ts",
  "src/domains/registry/transfer-messages.ts",
];
