// An embedded node and its agent for the tests of kills: they kill themselves with SIGKILL at one moment of applying a state.
import { systemClock } from "#lib/clock.ts";
import { createLog } from "#lib/log.ts";
import { systemRandom } from "#lib/random.ts";
import { startAgent } from "#nodes/agent/agent.ts";
import { loadAgentConfig } from "#nodes/agent/config.ts";
import { syncPath } from "#nodes/agent/messages.ts";
import { createTransport } from "#nodes/agent/transport.ts";
import { startEmbeddedNode } from "#nodes/embedded/node.ts";
import { runRole } from "#role.ts";

export type Moment =
  | "after receiving"
  | "after verifying"
  | "after applying"
  | "before acknowledging"
  | "after acknowledging";

export interface ChildSettings {
  configPath: string;
  progressFile: string;
  dataDir: string;
  /** Default: never. */
  killedWhen?: Moment;
}

const settings = JSON.parse(process.argv[2] ?? "") as ChildSettings;
const surroundings = { clock: systemClock, random: systemRandom, log: createLog("agent", "silent") };
const reach = (moment: Moment) => {
  if (settings.killedWhen === moment) process.kill(process.pid, "SIGKILL");
};

await runRole(async () => {
  const config = await loadAgentConfig(settings.configPath);
  const inner = createTransport(config.gateway);
  let isApplied = false;
  const transport: typeof inner = {
    ...inner,
    async send(request) {
      const isSync = request.path === syncPath;
      if (isSync && isApplied) reach("before acknowledging");
      const answer = await inner.send(request);
      // The request after `apply` acknowledges; its answer arrives with the next change.
      if (isSync && isApplied) reach("after acknowledging");
      if (isSync && answer.status === 200) reach("after receiving");
      return answer;
    },
  };
  const host = "127.0.0.1";
  const servers = await startEmbeddedNode({
    ...surroundings,
    dataDir: settings.dataDir,
    host,
    ftpPort: 0,
    webPort: 0,
    passivePorts: undefined,
    siteDomain: "localhost",
  });
  const { ftpPort, webPort } = servers;
  const node = servers.agentNode({ ftp: { host, port: ftpPort }, web: { host, port: webPort } });
  const agent = await startAgent({
    ...surroundings,
    config,
    transport,
    progressFile: settings.progressFile,
    node: {
      ...node,
      async apply(states) {
        reach("after verifying");
        const refused = await node.apply(states);
        isApplied = true;
        reach("after applying");
        return refused;
      },
    },
  });
  return {
    ready: {},
    async close() {
      await agent.close();
      await servers.close();
    },
  };
});
