/**
 * Functions that are longer than the rule allows, by file and name, with their lines today: they may only become shorter.
 * Each is a factory whose inner functions share its variables, as a class's methods share its fields.
 */
export const longFunctions: Record<string, number> = {
  "src/api/authenticate.ts createAuthenticator": 82,
  "src/api/edge.ts createEdge": 137,
  "src/api/replay.ts createReplayGuard": 93,
  "src/api/server.ts startServer": 74,
  "src/db/listener.ts createListener": 92,
};
