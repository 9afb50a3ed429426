/** For tests: a node on free ports in a folder of its own, and the agent that joins it to a gateway. */
import { type ChildProcess, fork } from "node:child_process";
import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { type Clock, systemClock } from "#lib/clock.ts";
import { systemRandom } from "#lib/random.ts";
import type { Secret } from "#lib/secret.ts";
import { type Agent, startAgent } from "#nodes/agent/agent.ts";
import { loadAgentConfig } from "#nodes/agent/config.ts";
import { join as joinGateway } from "#nodes/agent/join.ts";
import { createTransport } from "#nodes/agent/transport.ts";
import type { AgentNode } from "#nodes/agent-node.ts";
import type { DesiredAccount } from "#nodes/driver.ts";
import type { PassivePorts } from "#nodes/embedded/ftp/data-connection.ts";
import type { EmbeddedNodeLimits } from "#nodes/embedded/limits.ts";
import { startEmbeddedNode } from "#nodes/embedded/node.ts";
import { sharedTlsFolder } from "../../test/harness/shared-tls.ts";

export interface TestNode {
  dataDir: string;
  /** The node itself, without a gateway. */
  readonly driver: AgentNode;
  readonly ports: TestNodePorts;
  /** Everything the node logged. */
  logged(): string;
  /** Makes it a node of the gateway that has made the token; it may be several nodes. Its agent runs from now on. */
  join(token: Secret): Promise<void>;
  /** Its agents connect again at once, whatever they wait for. */
  reconnect(): Promise<void>;
  /** It is nobody's node any more. */
  leave(): Promise<void>;
  /** Stops the node and starts it again on the same folder; ports change, `driver` and `ports` follow. */
  restart(whileStopped?: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

export interface TestNodePorts {
  ftpPort: number;
  webPort: number;
}

export interface TestNodeOptions {
  limits?: Partial<EmbeddedNodeLimits>;
  passivePorts?: PassivePorts;
  clock?: Clock;
  /** Where the node's probes find FTP and web. Default: at its ports. */
  probedAt?: (ports: TestNodePorts) => TestNodePorts;
}

const host = "127.0.0.1";

export async function startTestNode(options: TestNodeOptions = {}): Promise<TestNode> {
  const dataDir = await mkdtemp(join(tmpdir(), "deedhouse-node-"));
  if (sharedTlsFolder) await copyFile(join(sharedTlsFolder, "ftp-tls.pem"), join(dataDir, "ftp-tls.pem"));
  const lines: string[] = [];
  const log = pino({ level: "trace" }, { write: (line: string) => lines.push(line) });
  const surroundings = { clock: options.clock ?? systemClock, random: systemRandom, log };
  const start = async () => {
    const node = await startEmbeddedNode({
      dataDir,
      host,
      ftpPort: 0,
      webPort: 0,
      passivePorts: options.passivePorts,
      siteDomain: "localhost",
      ...surroundings,
      limits: { guessDelayMs: 1, ...options.limits },
    });
    const ports = { ftpPort: node.ftpPort, webPort: node.webPort };
    const { ftpPort, webPort } = options.probedAt?.(ports) ?? ports;
    const driver = node.agentNode({ ftp: { host, port: ftpPort }, web: { host, port: webPort } });
    return { node, ports, driver };
  };
  let running = await start();
  /** The folders of its agents: one for each node that it is. */
  let joined: string[] = [];
  let agents: Agent[] = [];
  const startAgentOf = async (folder: string) => {
    const config = await loadAgentConfig(join(folder, "agent.json"));
    const agent = await startAgent({
      ...surroundings,
      // Its counters increase with the real time, also where a test's clock stands still.
      clock: systemClock,
      config,
      transport: createTransport(config.gateway),
      node: running.driver,
      progressFile: join(folder, "agent-progress.json"),
    });
    agents.push(agent);
  };
  const stopAgents = async () => {
    await Promise.all(agents.map((agent) => agent.close()));
    agents = [];
  };
  const startAgents = async () => {
    await Promise.all(joined.map(startAgentOf));
  };
  const stop = async () => {
    await stopAgents();
    await running.node.close();
  };
  return {
    dataDir,
    get driver() {
      return running.driver;
    },
    get ports() {
      return running.ports;
    },
    logged: () => lines.join(""),
    async join(token) {
      const folder = await mkdtemp(join(dataDir, "agent-"));
      await joinGateway(token.reveal(), join(folder, "agent.json"), systemClock);
      joined.push(folder);
      await startAgentOf(folder);
    },
    async reconnect() {
      await stopAgents();
      await startAgents();
    },
    async leave() {
      joined = [];
      await stopAgents();
    },
    async restart(whileStopped) {
      await stop();
      await whileStopped?.();
      running = await start();
      await startAgents();
    },
    async close() {
      await stop();
      // A worker's last request may still run, and create a file in the folder meanwhile.
      await rm(dataDir, { recursive: true, maxRetries: 5 });
    },
  };
}

const program = join(import.meta.dirname, "../../bin/deedhouse.ts");

/** The process of a node, as its users start it, on free ports. @param more environment variables */
export function forkNode(dataDir: string, more: Record<string, string> = {}): ChildProcess {
  const env = {
    ...process.env,
    DEEDHOUSE_LOG_LEVEL: "silent",
    DEEDHOUSE_NODE_DATA_DIR: dataDir,
    DEEDHOUSE_NODE_FTP_PORT: "0",
    DEEDHOUSE_NODE_WEB_PORT: "0",
    ...more,
  };
  return fork(program, ["node"], { env });
}

/** Creates an account in a node's data folder, for the node of another process that starts on it. */
export async function createAccount(dataDir: string, account: DesiredAccount): Promise<void> {
  const node = await startEmbeddedNode({
    dataDir,
    host,
    ftpPort: 0,
    webPort: 0,
    passivePorts: undefined,
    siteDomain: "localhost",
    clock: systemClock,
    random: systemRandom,
    log: pino({ level: "silent" }),
  });
  const nowhere = { host, port: 1 };
  await node.agentNode({ ftp: nowhere, web: nowhere }).ensureAccount(account);
  await node.close();
}
