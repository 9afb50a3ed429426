/**
 * Functions that are longer than the rule allows, by file and name, with their lines today: they may only become shorter.
 * Each is a factory whose inner functions share its variables, as a class's methods share its fields.
 */
export const longFunctions: Record<string, number> = {
  "src/api/replay/replay.ts createReplayGuard": 81,
  "src/db/listener.ts createListener": 75,
};
