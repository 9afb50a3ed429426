/** For tests: a node on free ports in a folder of its own, with its driver. */
import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { type Clock, systemClock } from "#lib/clock.ts";
import { systemRandom } from "#lib/random.ts";
import { Secret } from "#lib/secret.ts";
import type { HostingNode } from "#nodes/driver.ts";
import { createEmbeddedNodeDriver } from "#nodes/embedded/driver.ts";
import type { PassivePorts } from "#nodes/embedded/ftp/data-connection.ts";
import type { EmbeddedNodeLimits } from "#nodes/embedded/limits.ts";
import { type EmbeddedNode, startEmbeddedNode } from "#nodes/embedded/node.ts";
import { sharedTlsFolder } from "../../../test/harness/shared-tls.ts";

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
  if (sharedTlsFolder) await copyFile(join(sharedTlsFolder, "ftp-tls.pem"), join(dataDir, "ftp-tls.pem"));
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
      // What a worker asked for last may still be at work in the folder, and make a file in it meanwhile.
      await rm(dataDir, { recursive: true, maxRetries: 5 });
    },
  };
}
