/** The api as a separate process, next to a test gateway's: a test can kill and restart it at any moment. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Scope } from "./database.ts";
import { masterKey, type TestGateway } from "./gateway.ts";
import { registrarPassword } from "./profiles.ts";

export interface ApiProcess {
  readonly url: string;
  /** Undefined once the process has ended. */
  readonly pid: number | undefined;
  /** The folder of its journal, unless its settings name another. */
  readonly replayDir: string;
  /** SIGKILL: the process says, closes and writes nothing more. */
  kill(): Promise<void>;
  /** SIGTERM. @returns the exit code; null if a signal ended it */
  stop(): Promise<number | null>;
  start(): Promise<void>;
}

/**
 * @param databaseUrl the address of PostgreSQL: the gateway's, or its proxy's
 * @param settings more of its environment
 * @param entry another release's program
 */
export async function startApiProcess(
  scope: Scope,
  gateway: TestGateway,
  databaseUrl = gateway.databaseUrl,
  settings: Record<string, string> = {},
  entry = "bin/deedhouse.ts",
): Promise<ApiProcess> {
  const folder = await mkdtemp(join(tmpdir(), "deedhouse-api-"));
  const registries = gateway.context.registries.map(
    ({ id, host, port, servername, registrarId, suffixes, lockNewNames }) => {
      const connection = { host, port, servername, registrarId, password: registrarPassword };
      return { id, ...connection, suffixes, lockNewNames, caFile: gateway.registry.caFile };
    },
  );
  await writeFile(join(folder, "registries.json"), JSON.stringify(registries));
  const environment = {
    ...process.env,
    DATABASE_URL: databaseUrl,
    // Its registry is a sandbox's, and the tests' PostgreSQL would lose commits in a crash.
    DEEDHOUSE_DEPLOYMENT: "sandbox",
    DEEDHOUSE_MASTER_KEY: `1:${masterKey.toString("hex")}`,
    DEEDHOUSE_API_PORT: "0",
    DEEDHOUSE_CHECK_BUDGET_MS: String(gateway.context.checkBudgetMs),
    DEEDHOUSE_REPLAY_DIR: join(folder, "replay"),
    DEEDHOUSE_REGISTRIES_FILE: join(folder, "registries.json"),
    DEEDHOUSE_LOG_LEVEL: process.env.DEEDHOUSE_TEST_LOG ?? "silent",
    DEEDHOUSE_DRAIN_MS: "0",
    ...settings,
  };
  let port = 0;
  let pid: number | undefined;
  let end = async (_signal: NodeJS.Signals): Promise<number | null> => null;

  async function start(): Promise<void> {
    const stdio: ("ignore" | "inherit" | "ipc")[] = ["ignore", "inherit", "inherit", "ipc"];
    const child = spawn(process.execPath, [entry, "api"], { env: environment, stdio });
    const exited = once(child, "exit");
    pid = child.pid;
    child.once("exit", () => {
      pid = undefined;
    });
    end = async (signal) => {
      child.kill(signal);
      const [code] = await exited;
      return code;
    };
    const died = exited.then(() => Promise.reject(new Error("the api process ended during startup")));
    died.catch(() => {});
    const [ready] = await Promise.race([once(child, "message"), died]);
    port = ready.port;
  }

  scope.after(async () => {
    await end("SIGKILL");
    await rm(folder, { recursive: true, force: true });
  });
  await start();
  return {
    get url() {
      return `http://127.0.0.1:${port}`;
    },
    get pid() {
      return pid;
    },
    replayDir: environment.DEEDHOUSE_REPLAY_DIR,
    async kill() {
      await end("SIGKILL");
    },
    stop: () => end("SIGTERM"),
    start,
  };
}
