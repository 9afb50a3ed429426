import { access } from "node:fs/promises";
import { isIP } from "node:net";
import { join } from "node:path";
import type { NodeConfig } from "#config.ts";
import { systemClock } from "#lib/clock.ts";
import { createLog } from "#lib/log.ts";
import { nearAddress } from "#lib/net/near-address.ts";
import { startStatusListener } from "#lib/net/status-listener.ts";
import { systemRandom } from "#lib/random.ts";
import { startMetrics } from "#metrics/metrics.ts";
import { startAgent } from "#nodes/agent/agent.ts";
import { loadAgentConfig } from "#nodes/agent/config.ts";
import { hasJoinedWith, join as joinGateway } from "#nodes/agent/join.ts";
import { whyServersSilent } from "#nodes/agent/readiness.ts";
import { createTransport } from "#nodes/agent/transport.ts";
import { isLoopback } from "#nodes/embedded/ftp/address.ts";
import { type EmbeddedNode, startEmbeddedNode } from "#nodes/embedded/node.ts";
import type { Role } from "#role.ts";

const surroundings = { clock: systemClock, random: systemRandom };

/** The role `node`: the embedded node, and its agent. */
export async function startNodeRole(config: NodeConfig): Promise<Role> {
  const { token, passiveFrom, passiveTo, logLevel, status: statusSettings, ...rest } = config;
  const log = createLog("node", logLevel);
  const node = await startEmbeddedNode({
    ...rest,
    ...surroundings,
    passivePorts: passiveFrom === 0 ? undefined : { from: passiveFrom, to: passiveTo },
    log,
  });
  const ready = { ftpPort: node.ftpPort, webPort: node.webPort };
  const isLocal = rest.host === "localhost" || (isIP(rest.host) !== 0 && isLoopback(rest.host));
  if (isLocal) log.info({ host: rest.host, ...ready }, "FTP and web serve this server only");
  else
    log.warn(
      { host: rest.host, ...ready },
      "FTP and web serve other hosts: this kind of node is meant for small servers",
    );
  const agent = await startAgentOf(node, config, log).catch(async (error: unknown) => {
    await node.close();
    throw error;
  });
  const servers = placesOf(rest.host, node);
  const whyNotReady = () => (agent ? whyServersSilent(servers.ftp, servers.web) : "it has not joined a gateway");
  const own = { ...surroundings, role: "node", whyNotReady, log };
  const metrics = startMetrics(own);
  const status = await startStatusListener(statusSettings, { ...own, pages: { "/metrics": metrics.page } });
  return {
    ready: { ...ready, ...status.ready },
    async close() {
      await agent?.close();
      await node.close();
      await status.close();
      metrics.close();
    },
  };
}

/** Joins the gateway if need be. @returns undefined when the node has no gateway; it still serves its accounts */
async function startAgentOf(
  node: EmbeddedNode,
  { dataDir, host, token }: NodeConfig,
  log: ReturnType<typeof createLog>,
) {
  const configFile = join(dataDir, "agent.json");
  if (token !== undefined && !(await hasJoinedWith(token, configFile))) {
    await joinGateway(token, configFile, systemClock);
  }
  if (!(await isThere(configFile))) {
    log.warn("no gateway commands this node: set DEEDHOUSE_NODE_TOKEN_FILE to the output of deedhouse node token");
    return undefined;
  }
  const config = await loadAgentConfig(configFile);
  return startAgent({
    ...surroundings,
    config,
    transport: createTransport(config.gateway),
    node: node.agentNode(placesOf(host, node)),
    progressFile: join(dataDir, "agent-progress.json"),
    log,
  });
}

/** Where this machine reaches the node's servers. */
function placesOf(host: string, { ftpPort, webPort }: EmbeddedNode) {
  const near = nearAddress(host);
  return { ftp: { host: near, port: ftpPort }, web: { host: near, port: webPort } };
}

const isThere = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  );
