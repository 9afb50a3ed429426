/** For tests: a node on free ports in a folder of its own, with its driver. */
import { mkdtemp, rm } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hashSync } from "@node-rs/bcrypt";
import { pino } from "pino";
import { type Clock, systemClock } from "#lib/clock.ts";
import { systemRandom } from "#lib/random.ts";
import { Secret } from "#lib/secret.ts";
import type { DesiredAccount, HostingNode } from "../driver.ts";
import { createEmbeddedNodeDriver } from "./driver.ts";
import type { PassivePorts } from "./ftp/data-connection.ts";
import type { EmbeddedNodeLimits } from "./limits.ts";
import { type EmbeddedNode, startEmbeddedNode } from "./node.ts";

export const password = "correct horse battery";
export const passwordHash = quickHash(password);

/** A hash of the lowest cost that bcrypt has. The library labels `$2y$` what everybody else calls `$2b$`. */
export function quickHash(text: string): Secret {
  return new Secret(hashSync(text, 4).replace("$2y$", () => "$2b$"));
}

export interface TestNode {
  dataDir: string;
  controlToken: Secret;
  driver: HostingNode;
  readonly ports: Omit<EmbeddedNode, "close">;
  /** Everything the node logged. */
  logged(): string;
  /** Stops the node and starts it again on the same folder; ports change, `driver` and `ports` follow. */
  restart(whileStopped?: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

export interface TestNodeOptions {
  limits?: Partial<EmbeddedNodeLimits>;
  passivePorts?: PassivePorts;
  clock?: Clock;
}

export async function startTestNode(options: TestNodeOptions = {}): Promise<TestNode> {
  const dataDir = await mkdtemp(join(tmpdir(), "deedhouse-node-"));
  const lines: string[] = [];
  const log = pino({ level: "trace" }, { write: (line: string) => lines.push(line) });
  const controlToken = new Secret(systemRandom.bytes(16).toString("hex"));
  const siteDomain = "localhost";
  const start = async () => {
    const node = await startEmbeddedNode({
      dataDir,
      host: "127.0.0.1",
      ftpPort: 0,
      webPort: 0,
      controlPort: 0,
      passivePorts: options.passivePorts,
      controlToken,
      siteDomain,
      bareIdentifiers: true,
      clock: options.clock ?? systemClock,
      random: systemRandom,
      log,
      limits: { guessDelayMs: 1, ...options.limits },
    });
    const driver = createEmbeddedNodeDriver({
      controlUrl: `http://127.0.0.1:${node.controlPort}`,
      controlToken,
      ftp: { host: "127.0.0.1", port: node.ftpPort },
      web: { host: "127.0.0.1", port: node.webPort },
      siteDomain,
      random: systemRandom,
      log,
    });
    return { node, driver };
  };
  let running = await start();
  return {
    dataDir,
    controlToken,
    get driver() {
      return running.driver;
    },
    get ports() {
      return running.node;
    },
    logged: () => lines.join(""),
    restart: async (whileStopped) => {
      await running.node.close();
      await whileStopped?.();
      running = await start();
    },
    close: async () => {
      await running.node.close();
      await rm(dataDir, { recursive: true });
    },
  };
}

/** An account with room for a test. */
export function testAccount(identifier: string, uid: number, changes: Partial<DesiredAccount> = {}): DesiredAccount {
  return {
    identifier,
    uid,
    passwordHash,
    diskBytesMax: 1_000_000,
    filesMax: 100,
    sessionsMax: 10,
    ftpEnabled: true,
    suspended: false,
    hostNames: [],
    ...changes,
  };
}

export interface Page {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

/** Asks the web port, with any Host header and any path as they are. */
export function getPage(
  port: number,
  path: string,
  headers: Record<string, string>,
  method: "GET" | "HEAD" | "POST" = "GET",
): Promise<Page> {
  return new Promise((resolve, reject) => {
    const question = request({ host: "127.0.0.1", port, path, method, headers, agent: false }, async (response) => {
      let body = "";
      for await (const chunk of response.setEncoding("utf8")) body += chunk;
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body });
    });
    question.on("error", reject);
    question.end();
  });
}
