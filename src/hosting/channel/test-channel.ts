/** For tests: a gateway's endpoint for agents on a database of the test's own, and machines that join it. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generate } from "selfsigned";
import type { Context } from "#context.ts";
import { createListener } from "#db/listener.ts";
import { statement } from "#db/statement.ts";
import { type AgentEndpoint, type AgentEndpointOptions, startAgentEndpoint } from "#hosting/channel/agent-endpoint.ts";
import { createAgentDriver } from "#hosting/channel/driver.ts";
import { createJoinToken } from "#hosting/channel/join-token.ts";
import { systemClock } from "#lib/clock.ts";
import { createLog } from "#lib/log.ts";
import { systemRandom } from "#lib/random.ts";
import { createSealer } from "#lib/sealed-secret.ts";
import { Secret } from "#lib/secret.ts";
import { type Agent, startAgent } from "#nodes/agent/agent.ts";
import { type AgentConfig, loadAgentConfig } from "#nodes/agent/config.ts";
import { join as joinGateway } from "#nodes/agent/join.ts";
import { createTransport, type Transport } from "#nodes/agent/transport.ts";
import type { AgentNode } from "#nodes/agent-node.ts";
import type { Endpoint, HostingNode } from "#nodes/driver.ts";
import { type Scope, testDatabase } from "../../../test/harness/database.ts";

const insertNode = statement(
  "test-channel-node",
  `INSERT INTO hosting_nodes (id, kind, ftp_host, ftp_port, web_host, web_port, capacity_bytes, accounts_max, created_at, updated_at)
   VALUES ($node_id, 'proftpd-nginx', 'localhost', 21, 'localhost', 80, 1000000000000, 100000, now(), now())`,
  {},
);

export type ChannelContext = Context & { databaseUrl: string };

export interface TestMachine {
  nodeId: string;
  config: AgentConfig;
  configPath: string;
  progressFile: string;
  /** The driver of the gateway's workers. */
  driver: HostingNode;
  start(node: AgentNode, transport?: Transport, progressFile?: string): Promise<Agent>;
}

export interface TestChannel {
  context: ChannelContext;
  readonly endpoint: AgentEndpoint;
  closeEndpoint(): Promise<void>;
  /** Starts it again at the same port. @param changed options that differ now */
  openEndpoint(changed?: Partial<AgentEndpointOptions>): Promise<void>;
  /** Inserts a node, and a machine that has joined as it. */
  join(nodeId: string, ftp?: Endpoint): Promise<TestMachine>;
  token(nodeId: string): Promise<Secret>;
}

export async function startTestChannel(scope: Scope, own: Partial<AgentEndpointOptions> = {}): Promise<TestChannel> {
  const closers: (() => unknown)[] = [];
  scope.after(async () => {
    for (const close of closers.reverse()) await close();
  });
  const { url, database } = await testDatabase({ after: (hook) => void closers.push(hook) });
  const folder = await mkdtemp(join(tmpdir(), "deedhouse-channel-"));
  closers.push(() => rm(folder, { recursive: true }));
  const log = createLog("test", process.env.DEEDHOUSE_TEST_LOG ?? "silent");
  const listener = createListener({ url, clock: systemClock, log });
  closers.push(() => listener.close());
  const sealer = createSealer({
    keys: [{ id: "1", key: new Secret(Buffer.alloc(32, "test key")) }],
    random: systemRandom,
  });
  const needed = { database, listener, clock: systemClock, random: systemRandom, log, sealer, siteDomain: "localhost" };
  const context = { ...needed, databaseUrl: url } as ChannelContext;
  let options: AgentEndpointOptions = { host: "127.0.0.1", port: 0, tls: await testCertificate(), ...own };
  let endpoint = await startAgentEndpoint(context, options);
  options = { ...options, port: endpoint.port };
  closers.push(() => endpoint.close());

  const channel: TestChannel = {
    context,
    get endpoint() {
      return endpoint;
    },
    closeEndpoint: () => endpoint.close(),
    openEndpoint: async (changed = {}) => {
      endpoint = await startAgentEndpoint(context, { ...options, ...changed });
    },
    token: (nodeId) => createJoinToken(context, nodeId),
    async join(nodeId, ftp = { host: "localhost", port: 21 }) {
      await database.query(insertNode, { node_id: nodeId });
      const configPath = join(folder, `${nodeId}.json`);
      const usualProgressFile = join(folder, `${nodeId}.progress.json`);
      await joinGateway((await channel.token(nodeId)).reveal(), configPath, systemClock);
      const config = await loadAgentConfig(configPath);
      return {
        nodeId,
        config,
        configPath,
        progressFile: usualProgressFile,
        driver: createAgentDriver(context, nodeId, ftp),
        start: async (node, transport = createTransport(config.gateway), progressFile = usualProgressFile) => {
          const agent = await startAgent({
            config,
            transport,
            node,
            progressFile,
            clock: systemClock,
            random: systemRandom,
            log,
          });
          closers.push(() => agent.close());
          return agent;
        },
      };
    },
  };
  return channel;
}

/** PEM. */
export async function testCertificate(): Promise<{ certificate: string; key: string }> {
  const made = await generate([{ name: "commonName", value: "gateway.test" }], { keyType: "ec", curve: "P-256" });
  return { certificate: made.cert, key: made.private };
}
