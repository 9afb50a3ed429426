// The agent of a node in a test's folder, as a separate process. It can kill itself with SIGKILL at one moment.

import { systemClock } from "#lib/clock.ts";
import { createLog } from "#lib/log.ts";
import { systemRandom } from "#lib/random.ts";
import { startAgent } from "#nodes/agent/agent.ts";
import { loadAgentConfig } from "#nodes/agent/config.ts";
import { syncPath } from "#nodes/agent/messages.ts";
import { createTransport } from "#nodes/agent/transport.ts";
import type { Endpoint } from "#nodes/driver.ts";
import { createProftpdNode } from "#nodes/proftpd-nginx/node.ts";
import type { ProftpdNodeSettings } from "#nodes/proftpd-nginx/settings.ts";
import { runRole } from "#role.ts";

/** In the order in which a state, and the question after it, pass through an agent. */
export type AgentMoment =
  | "before it asks"
  | "with a state in its hands"
  | "while it applies a state"
  | "before it records that it is applied"
  | "before it acknowledges"
  | "with an acknowledged state"
  | "when it is to probe";

export interface AgentProcessSettings {
  configPath: string;
  progressFile: string;
  settings: ProftpdNodeSettings;
  ftp: Endpoint;
  web: Endpoint;
  logLevel: string;
  /** Default: never. */
  killedAt?: AgentMoment;
}

const { configPath, progressFile, settings, ftp, web, logLevel, killedAt } = JSON.parse(
  process.argv[2] ?? "",
) as AgentProcessSettings;
const surroundings = { clock: systemClock, random: systemRandom, log: createLog("agent", logLevel) };
const reach = (moment: AgentMoment) => {
  if (killedAt === moment) process.kill(process.pid, "SIGKILL");
};

await runRole(async () => {
  const config = await loadAgentConfig(configPath);
  const transport = createTransport(config.gateway);
  const node = await createProftpdNode({ ...surroundings, settings, ftp, web });
  let isApplied = false;

  const send = transport.send.bind(transport);
  transport.send = async (request) => {
    const isSync = request.path === syncPath;
    if (isSync) reach(isApplied ? "before it acknowledges" : "before it asks");
    const answer = await send(request);
    // An agent that has nothing to apply has acknowledged by asking.
    if (isSync && answer.status === 200) reach("with an acknowledged state");
    return answer;
  };
  const apply = node.apply.bind(node);
  node.apply = async (states) => {
    reach("with a state in its hands");
    const applying = apply(states);
    setImmediate(() => reach("while it applies a state"));
    const refused = await applying;
    isApplied = true;
    reach("before it records that it is applied");
    return refused;
  };
  const probe = node.probe.bind(node);
  node.probe = async (key) => {
    reach("when it is to probe");
    await probe(key);
  };

  const agent = await startAgent({ ...surroundings, config, transport, node, progressFile });
  return {
    ready: {},
    async close() {
      await agent.close();
      await node.close();
    },
  };
});
