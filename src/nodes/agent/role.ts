import { dirname, join } from "node:path";
import { parseArgs } from "node:util";
import { loadStatusConfig } from "#config.ts";
import { systemClock } from "#lib/clock.ts";
import { createLog } from "#lib/log.ts";
import { startStatusListener } from "#lib/net/status-listener.ts";
import { systemRandom } from "#lib/random.ts";
import { startMetrics } from "#metrics/metrics.ts";
import { startAgent } from "#nodes/agent/agent.ts";
import { agentVersion } from "#nodes/agent/agent-version.ts";
import { loadAgentConfig } from "#nodes/agent/config.ts";
import { whyServersSilent } from "#nodes/agent/readiness.ts";
import { createTransport } from "#nodes/agent/transport.ts";
import { loadNodeSettings, machinePaths } from "#nodes/proftpd-nginx/machine-settings.ts";
import { createProftpdNode } from "#nodes/proftpd-nginx/node.ts";
import type { Role } from "#role.ts";

export const agentHelp = `Usage: deedhouse node --agent [options]

Runs the agent of a hosting node on this machine: it fetches the node's desired state from its gateway and applies it.
deedhouse node install sets it up as a service; run it manually to watch its log.

Options:
  --config <file>      the agent's configuration (default: "${machinePaths.agent}");
                       node.json in the same folder holds the server's settings
  --log-level <level>  trace, debug, info, warn or error (default: "info")
  -h, --help           display help for command

Example:
  deedhouse node --agent --log-level debug
`;

/** The role `node --agent`. @param args the arguments after `--agent` @throws Error that says what to do */
export async function startAgentRole(args: string[]): Promise<Role> {
  const { values } = parseArgs({ args, options: { config: { type: "string" }, "log-level": { type: "string" } } });
  const configFile = values.config ?? machinePaths.agent;
  const config = await loadAgentConfig(configFile);
  const { settings, ftp, web } = await loadNodeSettings(join(dirname(configFile), "node.json"), config.siteDomain);
  const surroundings = {
    clock: systemClock,
    random: systemRandom,
    log: createLog("agent", values["log-level"] ?? "info"),
  };
  const transport = createTransport(config.gateway);
  const node = await createProftpdNode({ ...surroundings, settings, ftp, web });
  const progressFile = join(settings.stateFolder, "agent-progress.json");
  const agent = await startAgent({ ...surroundings, config, transport, node, progressFile });
  const own = { role: "agent", whyNotReady: () => whyServersSilent(ftp, web), ...surroundings };
  const metrics = startMetrics(own);
  const status = await startStatusListener(loadStatusConfig(), { ...own, pages: { "/metrics": metrics.page } });
  surroundings.log.info(
    { node: config.node, gateway: config.gateway.url, version: agentVersion },
    "the agent is running",
  );
  return {
    ready: { node: config.node, ...status.ready },
    async close() {
      await agent.close();
      await node.close();
      await status.close();
      metrics.close();
    },
  };
}
