/** What the settings say about the server of each thread of an api. */
import type { ServerOptions } from "#api/server.ts";
import type { Config } from "#config.ts";
import { sourceRequestsMaxDefault } from "#front/http-server.ts";

/** The kernel gives each connection to one of the threads, so each has its part of the limits. */
export function serverOptionsOf(config: Config): Omit<ServerOptions, "replayGuard" | "stopping"> {
  const { apiThreads, sourceShares: shares } = config;
  const part = (limit: number) => Math.ceil(limit / apiThreads);
  return {
    isSandbox: config.deployment === "sandbox",
    host: config.apiHost,
    port: config.apiPort,
    windowSeconds: config.signatureWindowSeconds,
    sourceFailuresMax: config.sourceFailuresMax,
    tls: config.apiTls,
    proxies: config.proxies,
    sharesPort: apiThreads > 1,
    connectionsMax: part(config.connectionsMax),
    sourceRequestsMax: part(sourceRequestsMaxDefault),
    shares: {
      ...shares,
      sourceConnectionsMax: part(shares.sourceConnectionsMax),
      sourceHalfOpenMax: part(shares.sourceHalfOpenMax),
      fewConnectionsMax: part(shares.fewConnectionsMax),
    },
  };
}
