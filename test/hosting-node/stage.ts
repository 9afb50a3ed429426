/**
 * Everything that `deedhouse start` runs, and a machine with ProFTPD and nginx whose agent is a separate process. The customers'
 * client is curl.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { systemClock } from "#lib/clock.ts";
import { join as joinGateway } from "#nodes/agent/join.ts";
import { cannotStart, startTestProftpdNode, type TestProftpdNode } from "#nodes/proftpd-nginx/test-node.ts";
import { type Client, createClient } from "../../client/sdk/client.ts";
import type { Scope } from "../harness/database.ts";
import { freePorts } from "../harness/free-ports.ts";
import { type Ended, eventually, type RunningSystem, startSystem, systemFolder } from "../harness/running-system.ts";
import type { AgentMoment, AgentProcessSettings } from "./agent-process.ts";

export const password = "Correct-horse-9-battery";
export const nodeId = "web-1";
/** Of the only service pack that the node offers. */
export const diskBytesMax = 1_000_000;

const profile = {
  fullName: "Rob Rival",
  email: "rob@rival.example",
  phone: "+32.25550100",
  street: "Main Street 1",
  city: "Brussels",
  postalCode: "1000",
  countryCode: "BE",
};
const agentProgram = fileURLToPath(new URL("agent-process.ts", import.meta.url));
const isMissing = (program: string) => spawnSync(program, ["--version"]).error !== undefined;

/** For `skip`: why these tests cannot run here, or false. */
export const cannotRun: string | false = cannotStart || (isMissing("curl") && "curl is not installed");

export interface AgentProcess {
  /** Resolves with the signal that ended it, or null. */
  ended: Promise<NodeJS.Signals | null>;
  kill(): Promise<void>;
}

export interface WholeWay {
  system: RunningSystem;
  databaseUrl: string;
  machine: TestProftpdNode;
  /** The sandbox reseller's client, which is the default of what follows. */
  client: Client;
  packId: string;
  /** Starts the machine's agent. @param killedAt the moment at which it kills itself */
  startAgent(killedAt?: AgentMoment): Promise<AgentProcess>;
  /** The log of all agents so far. */
  agentLog(): string;
  /** Adds another reseller. */
  addReseller(name: string): Promise<Client>;
  /** Runs an operator's command. */
  operate(...args: string[]): Promise<Ended>;
  /** The same; it must succeed. @returns its JSON output */
  operated(...args: string[]): Promise<Record<string, unknown>>;
  create(identifier: string, as?: Client): Promise<void>;
  /** Creates it, and waits until it is Ready. */
  createReady(identifier: string, as?: Client): Promise<void>;
  untilReady(identifier: string, as?: Client): Promise<void>;
  /** Uploads a page as customers do. @returns curl's exit code and the last reply */
  upload(identifier: string, content: string, secret?: string): Promise<Uploaded>;
  /** The site's page, as visitors see it. */
  page(identifier: string): Promise<{ status: number; body: string }>;
}

interface Uploaded {
  code: number | null;
  reply: string;
}

/**
 * Starts everything but the agent, which the test starts and kills, and offers a pack that only this node can hold.
 * @param scope ends everything afterwards, even if a start fails
 * @param database instead of a separate PostgreSQL
 */
export async function startWholeWay(scope: Scope, database?: Promise<{ url: string }>): Promise<WholeWay> {
  const closers: (() => unknown)[] = [];
  scope.after(async () => {
    for (const close of closers.reverse()) await close();
  });
  const inner: Scope = { after: (hook) => void closers.push(hook) };
  const [nodesPort] = await freePorts(1);
  const databaseUrl = (await database)?.url;
  const env = {
    ...process.env,
    ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
    DEEDHOUSE_NODES_PORT: String(nodesPort),
  };
  const folder = await systemFolder(inner);
  const machine = await startTestProftpdNode({ siteDomain: "localhost" });
  closers.push(async () => {
    await machine.reopen();
    await machine.close();
  });
  // The separate process is the node's agent.
  await machine.node.close();
  const system = await startSystem(folder, ["--rate-limit", "1000000000"], { env });
  closers.push(() => system.kill("SIGINT"));
  const operate = (...args: string[]) => system.tool(["operator", ...args, "--data", join(folder, "data")], { env });
  const operated = async (...args: string[]) => {
    const { code, stdout, stderr } = await operate(...args, "--json");
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout) as Record<string, unknown>;
  };

  const profileFile = join(folder, "profile.json");
  await writeFile(profileFile, JSON.stringify(profile));
  const place = ["--ftp", `127.0.0.1:${machine.ftp.port}`, "--web", `127.0.0.1:${machine.web.port}`];
  const added = await operated("node", "add", nodeId, "--capacity-gb", "1", "--tag", "real", ...place);
  const pack = ["packs", "create", "Real", "--disk-mb", String(diskBytesMax / 1_000_000), "--node-tag", "real"];
  const { id: packId } = await operated(...pack);
  const agents = await prepareAgent(inner, machine, String(added.token));

  const create = async (identifier: string, as = system.client) => {
    await as.createHostingAccount({ identifier, servicePackId: String(packId), password });
  };
  // Not the client's own wait, which polls every 10 seconds.
  const untilReady = (identifier: string, as = system.client) =>
    eventually(`${identifier} is Ready`, async () => {
      const { data } = await as.getHostingAccount(identifier);
      assert.ok(data.status === "Ready" || data.status === "Provisioning", JSON.stringify(data));
      return data.status === "Ready";
    });
  return {
    ...{
      system,
      databaseUrl: system.ready().database_url,
      machine,
      client: system.client,
      packId: String(packId),
      operate,
      operated,
      ...agents,
    },
    async addReseller(name) {
      await operated("account", "create", name, "--rate-limit", "100000");
      await operated("account", "profile", name, "--file", profileFile);
      const key = await operated("key", "create", "--account", name);
      return createClient({
        url: system.ready().url,
        apiKey: String(key.api_key),
        apiSecret: String(key.api_secret),
      });
    },
    create,
    async createReady(identifier, as = system.client) {
      await create(identifier, as);
      await untilReady(identifier, as);
    },
    untilReady,
    async upload(identifier, content, secret = password) {
      const url = `ftp://127.0.0.1:${machine.ftp.port}/www/index.html`;
      const login = [
        "--ssl-reqd",
        "--cacert",
        machine.settings.ftp.certificateFile,
        "--user",
        `${identifier}:${secret}`,
      ];
      const { code, stderr } = await curl(["-v", ...login, "--upload-file", "-", url], content);
      return { code, reply: /.*^< (\d{3}[ -].*?)\r?$/ms.exec(stderr.split("> QUIT")[0] ?? "")?.[1] ?? stderr };
    },
    async page(identifier) {
      const { stdout } = await curl([
        "--write-out",
        "\n%{http_code}",
        `http://${identifier}.localhost:${machine.web.port}/`,
      ]);
      const [, body = "", status] = /^(.*)\n(\d+)$/s.exec(stdout) ?? [];
      return { status: Number(status), body };
    },
  };
}

/** Joins the machine with its token. The scope ends all of its agents. */
async function prepareAgent(scope: Scope, { settings, ftp, web }: TestProftpdNode, token: string) {
  const folder = await mkdtemp(join(tmpdir(), "deedhouse-agent-"));
  scope.after(() => rm(folder, { recursive: true }));
  const configPath = join(folder, "agent.json");
  await joinGateway(token, configPath, systemClock);
  const running = new Set<AgentProcess>();
  scope.after(() => Promise.all([...running].map((agent) => agent.kill())));
  let log = "";
  return {
    agentLog: () => log,
    async startAgent(killedAt?: AgentMoment): Promise<AgentProcess> {
      const progressFile = join(folder, "progress.json");
      const own: AgentProcessSettings = { configPath, progressFile, settings, ftp, web, logLevel: "debug" };
      const child = spawn(process.execPath, [agentProgram, JSON.stringify({ ...own, killedAt })], {
        // The channel closes with this process, so that no agent outlives the tests.
        stdio: ["ignore", "pipe", "pipe", "ipc"],
      });
      for (const stream of [child.stdout, child.stderr]) stream?.on("data", (data) => (log += data));
      const ended = once(child, "exit").then(([, signal]) => signal as NodeJS.Signals | null);
      const agent: AgentProcess = { ended, kill: () => kill(child, ended) };
      running.add(agent);
      await Promise.race([once(child, "message"), ended]);
      if (child.exitCode !== null) throw new Error(`the agent could not be started: ${log}`);
      return agent;
    },
  };
}

async function kill(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  child.kill("SIGKILL");
  await ended;
}

/** Runs curl as customers do. */
export async function curl(
  args: string[],
  input = "",
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn("curl", ["--silent", "--show-error", "--max-time", "30", ...args]);
  const ended = once(child, "close");
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  const [code] = await ended;
  return { code, stdout, stderr };
}
