/**
 * Functions that are longer than the rule allows, by file and name, with their lines today: they may only become shorter.
 * Each is a factory whose inner functions share its variables, as a class's methods share its fields.
 */
export const longFunctions: Record<string, number> = {
  "src/api/replay/replay.ts createReplayGuard": 84,
  "src/db/listener.ts createListener": 76,
};

/**
 * Folders and pages whose sentences are not plain English yet, by the beginning of the path. Rewrite one, then remove it
 * here; nothing may be added.
 */
export const oldEnglish: string[] = ["src/hosting/channel/", "src/hosting/nodes/", "src/nodes/", "test/hosting-node/"];
