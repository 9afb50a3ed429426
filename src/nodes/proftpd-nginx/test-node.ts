/** For tests: ProFTPD and nginx on free ports of loopback, in a folder of their own, with the agent's side of the node. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmod, copyFile, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Client } from "basic-ftp";
import { pino } from "pino";
import { type Clock, systemClock } from "#lib/clock.ts";
import { systemRandom } from "#lib/random.ts";
import { type Certificate, loadCertificate } from "#nodes/certificate.ts";
import type { Endpoint } from "#nodes/driver.ts";
import { renderNginxConf } from "#nodes/proftpd-nginx/nginx-conf.ts";
import { createProftpdNode, type ProftpdNode } from "#nodes/proftpd-nginx/node.ts";
import { renderProftpdConf } from "#nodes/proftpd-nginx/proftpd-conf.ts";
import {
  defaultProftpdNodeLimits,
  type NodePaths,
  nodePaths,
  type ProftpdNodeLimits,
  type ProftpdNodeSettings,
} from "#nodes/proftpd-nginx/settings.ts";
import { logInFtp } from "#nodes/test-ftp-login.ts";
import { freePorts } from "../../../test/harness/free-ports.ts";

const startMs = 10_000;
const passivePortsMin = 200;

/** For `skip`: why such a node cannot be started here, or false. */
export const cannotStart: string | false =
  process.getuid?.() !== 0
    ? "not root"
    : (["proftpd", "nginx"].map(whyMissing).find((why) => why !== undefined) ?? false);

function whyMissing(program: string): string | undefined {
  const isInstalled = spawnSync(program, ["-v"]).error === undefined;
  return isInstalled ? undefined : `${program === "proftpd" ? "proftpd-core" : program} is not installed`;
}

export interface TestProftpdNode {
  settings: ProftpdNodeSettings;
  paths: NodePaths;
  /** The agent's side; follows `restart()`. */
  readonly node: ProftpdNode;
  ftp: Endpoint;
  web: Endpoint;
  /** Where sites answer over TLS. */
  webTls: Endpoint;
  /** PEM: what FTP and sites show. */
  certificate: string;
  /** A certificate that no server presents yet. */
  anotherCertificate(host: string): Promise<Certificate>;
  /** Everything the agent's side logged. */
  logged(): string;
  /** Closes the agent's side and opens it again; both servers go on. */
  restart(): Promise<void>;
  /** Opens the agent's side that was closed. */
  reopen(): Promise<void>;
  close(): Promise<void>;
}

export interface TestProftpdNodeOptions {
  limits?: Partial<ProftpdNodeLimits>;
  clock?: Clock;
  /** PEM, for FTP, instead of a self-signed one. */
  keyAndCertificate?: string;
  siteDomain?: string;
}

export async function startTestProftpdNode(options: TestProftpdNodeOptions = {}): Promise<TestProftpdNode> {
  const folder = await mkdtemp(join(tmpdir(), "deedhouse-proftpd-"));
  // nginx's workers and the customers' sessions go through it.
  await chmod(folder, 0o755);
  const servers: ChildProcess[] = [];
  const stop = async () => {
    await Promise.all(servers.map(end));
    await rm(folder, { recursive: true });
  };
  try {
    if (options.keyAndCertificate !== undefined)
      await writeFile(join(folder, "ftp-tls.pem"), options.keyAndCertificate, { mode: 0o600 });
    const certificate = await loadCertificate(folder, "127.0.0.1", systemClock);
    const described = describeTestNode(folder, await freePorts(3), options.limits);
    const settings = { ...described, siteDomain: options.siteDomain ?? described.siteDomain };
    await mkdir(join(folder, "certificates"));
    await copyFile(settings.ftp.certificateFile, join(folder, "certificates", "sites.pem"));
    // nginx's workers read it at every handshake.
    await chmod(join(folder, "certificates", "sites.pem"), 0o644);
    const paths = nodePaths(settings);
    const ftp = { host: settings.ftp.address, port: settings.ftp.port };
    const web = { host: settings.web.address, port: settings.web.port };
    const lines: string[] = [];
    const log = pino({ level: "trace" }, { write: (line: string) => lines.push(line) });
    const clock = options.clock ?? systemClock;
    const open = () => createProftpdNode({ settings, ftp, web, clock, random: systemRandom, log });
    let node = await open();
    await startServers(folder, settings, servers);
    return {
      settings,
      paths,
      ftp,
      web,
      certificate: certificate.certificate,
      webTls: { host: settings.web.address, port: settings.web.tls?.port ?? 0 },
      anotherCertificate: async (host) =>
        loadCertificate(await mkdtemp(join(folder, "certificate-")), host, systemClock),
      get node() {
        return node;
      },
      logged: () => lines.join(""),
      restart: async () => {
        await node.close();
        node = await open();
      },
      reopen: async () => {
        node = await open();
      },
      close: async () => {
        await node.close();
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A node in this folder; nothing is made there. Ports: FTP, HTTP, HTTPS. */
export function describeTestNode(
  folder: string,
  [ftpPort = 0, webPort = 0, tlsPort = 0]: readonly number[],
  limits: Partial<ProftpdNodeLimits> = {},
): ProftpdNodeSettings {
  return {
    rootFolder: join(folder, "srv"),
    stateFolder: join(folder, "state"),
    runFolder: join(folder, "run"),
    logFolder: join(folder, "log"),
    siteDomain: "sites.test",
    ftp: {
      address: "127.0.0.1",
      port: ftpPort,
      passivePorts: freeRange(),
      certificateFile: join(folder, "ftp-tls.pem"),
      keyFile: join(folder, "ftp-tls.pem"),
    },
    web: {
      address: "127.0.0.1",
      port: webPort,
      tls: {
        port: tlsPort,
        certificatesFolder: join(folder, "certificates"),
        siteCertificateFile: join(folder, "certificates", "sites.pem"),
      },
      user: "www-data",
      mimeTypesFile: "/etc/nginx/mime.types",
    },
    // Tests guess wrong, and all from one address.
    limits: {
      ...defaultProftpdNodeLimits,
      addressGuessRoundsMax: 1_000,
      guessDelayMs: 1,
      webLogFlushMs: 20,
      logPollMs: 50,
      ...limits,
    },
  };
}

async function startServers(folder: string, settings: ProftpdNodeSettings, servers: ChildProcess[]): Promise<void> {
  const files = { proftpd: join(folder, "proftpd.conf"), nginx: join(folder, "nginx.conf") };
  await writeFile(files.proftpd, renderProftpdConf(settings));
  await writeFile(files.nginx, renderNginxConf(settings).replace("worker_processes auto", "worker_processes 1"));
  const run = (program: string, args: string[]) => {
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"] });
    servers.push(child);
    return child;
  };
  await Promise.all([
    listens(run("proftpd", ["-n", "-q", "-c", files.proftpd]), settings.ftp.port),
    listens(run("nginx", ["-c", files.nginx, "-g", "daemon off;"]), settings.web.port),
  ]);
}

/** Waits until a server accepts connections. @throws with what it printed, when it ends before */
async function listens(server: ChildProcess, port: number): Promise<void> {
  let printed = "";
  for (const stream of [server.stdout, server.stderr]) stream?.on("data", (text) => (printed += text));
  const until = performance.now() + startMs;
  while (!(await accepts(port))) {
    if (server.exitCode !== null || performance.now() > until) {
      throw new Error(`${server.spawnfile} does not listen: ${printed}`);
    }
    await pause(20);
  }
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** Both servers end their own processes on SIGTERM; ProFTPD leaves its sessions, which end with their connections. */
async function end(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const ended = once(server, "exit");
  server.kill("SIGTERM");
  await ended;
}

/** Passive ports: below the kernel's ephemeral ports, with a range of its own for every test process. */
function freeRange(): { from: number; to: number } {
  const from = 12_000 + systemRandom.below(90) * passivePortsMin;
  return { from, to: from + passivePortsMin - 1 };
}

/** A customer's session over TLS. @throws when the login fails */
export function connectFtp(node: TestProftpdNode, user: string, password: string): Promise<Client> {
  const tls = { ca: node.certificate, checkServerIdentity: () => undefined, allowPartialTrustChain: true };
  return logInFtp(node.ftp, user, password, tls);
}
